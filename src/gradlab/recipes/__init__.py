"""Named experiments. Importing this room loads neither torch nor scikit-learn."""

from pathlib import Path

from gradlab.errors import GradlabError, unknown
from gradlab.recipe import Recipe
from gradlab.recipes import builtin
from gradlab.recipes.book import DEFAULT, book, doc

__all__ = ["DEFAULT", "book", "builtin", "doc", "find"]


def find(name: str) -> Recipe:
    """The recipe of a name, or of a TOML file."""
    if name in book:
        return book[name]()
    path = Path(name)
    try:
        if path.suffix == ".toml" or path.is_file():
            return Recipe.from_toml(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise GradlabError(f"The recipe file {path} cannot be read: {error}.") from None
    raise unknown("recipe", name, book)
