"""Named experiments. Importing this room loads neither torch nor scikit-learn."""

import difflib
import inspect
import os
from pathlib import Path

from gradlab import owners
from gradlab.errors import GradlabError, one_line, unknown
from gradlab.recipe import Recipe
from gradlab.recipes import generative, graphs, pictures, playing, sequences, tables, tabular, texts
from gradlab.recipes.book import DEFAULT, book, cpu_changes, doc
from gradlab.registry import shortly

__all__ = ["DEFAULT", "book", "by_subject", "cpu_changes", "doc", "find"]

_SUBJECTS = (pictures, tables, texts, sequences, graphs, generative, playing, tabular)


def by_subject() -> dict[str, list[str]]:
    """The names of all recipes, under what each file of this room says of its own."""
    titles = {subject.__name__: inspect.getdoc(subject) or "" for subject in _SUBJECTS}
    names: dict[str, list[str]] = {title: [] for title in titles.values()}
    for name in book:
        names.setdefault(titles.get(book[name].__module__, "Recipes of your own."), []).append(name)
    return names


def find(name: str, device: str = "") -> Recipe:
    """The recipe of a name, of a TOML file, or of a Python file that registers it: `mine.py`, `mine.py:name`.

    On a device of the kind `cpu`, one that has a GPU in mind is a smaller one.
    """
    file, _, chosen = name.rpartition(":") if ".py:" in name else (name, "", "")
    if file.endswith(".py"):
        return _of_code(file, chosen)
    if name in book:
        return _recipe(name).override(cpu_changes.get(name, {}) if device == "cpu" else {})
    if name.endswith(".toml"):
        return Recipe.read(Path(name))
    raise _no_such_file(Path(name)) if _is_path(name) else unknown("recipe", name, book.names())


def _is_path(name: str) -> bool:
    """Whether it looks like the name of a file or folder."""
    return os.sep in name or bool(Path(name).suffix)


def _no_such_file(path: Path) -> GradlabError:
    """An error for a path that is none, with the files there whose names are close to it."""
    names = os.listdir(path.parent) if path.parent.is_dir() else []
    close = [str(path.with_name(name)) for name in difflib.get_close_matches(path.name, names)]
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    return GradlabError(f"There is no file or folder {path}, and no recipe of that name.{hint}")


def _of_code(file: str, chosen: str) -> Recipe:
    names = owners.load(file).recipes
    if chosen:
        if chosen not in names:
            raise unknown(f"recipe in {file},", chosen, names)
        return _recipe(chosen)
    if not names:
        raise GradlabError(
            f"{file} has no recipe. Put @gradlab.register.recipe before a function that returns one, or name one of "
            f"gradlab's: gradlab train RECIPE --code {file}"
        )
    if len(names) > 1:
        raise GradlabError(f"{file} has {len(names)} recipes: {', '.join(names)}. Pick one: {file}:{names[0]}")
    return _recipe(names[0])


def _recipe(name: str) -> Recipe:
    """What the function of that name returns."""
    try:
        inspect.signature(book[name]).bind()
    except TypeError as error:
        raise GradlabError(f"The recipe {name!r} must be a function without arguments: {one_line(error)}.") from None
    with owners.telling():
        recipe: object = book[name]()
    if not isinstance(recipe, Recipe):
        raise GradlabError(f"The recipe {name!r} must return a gradlab.Recipe, but it returned {shortly(recipe)}.")
    return recipe
