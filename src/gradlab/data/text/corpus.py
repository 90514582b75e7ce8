"""Where text comes from: files, folders, and what every Python brings along."""

import hashlib
import os
import sysconfig
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from gradlab.data.text.documents import Document
from gradlab.errors import GradlabError
from gradlab.wording import counted

_NEAR = 0.1  # of the smallest split: how far a cut may move so as to be between two documents
_NOT_LIBRARY = {"test", "tests", "idle_test", "site-packages", "dist-packages", "pydoc_data", "__pycache__"}


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Documents in a fixed order."""

    name: str
    documents: Sequence[Document]

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def pieces(self) -> Iterator[str]:
        """All of the text, in pieces of which none holds parts of two documents."""
        return (piece for document in self.documents for piece in document)

    @property
    def size(self) -> int:
        """Bytes, as they are stored."""
        return sum(document.size for document in self.documents)

    def key(self) -> str:
        """SHA-256 of what the documents hold, in their order."""
        return hashlib.sha256("".join(document.key() for document in self.documents).encode()).hexdigest()

    def divide(self, validation: float, test: float) -> "tuple[Corpus, Corpus, Corpus]":
        """Train, validation and test: the first bytes, those after them, and the last, by their shares.

        The text is cut and not the tokens, so that models with different tokenizers are judged on the same text. The
        cut is between two documents where there is a border nearby, otherwise before the next line.
        """
        if min(validation, test) < 0 or validation + test >= 1:
            raise GradlabError(
                f"Shares of {validation:g} for validation and {test:g} for test leave nothing to train on."
            )
        near = round(_NEAR * self.size * min(s for s in (1 - validation - test, validation, test) if s))
        first, second = (self._border(share, near) for share in (1 - validation - test, 1 - test))
        parts = self._between(0, first), self._between(first, second), self._between(second, self.size)
        for part, share in zip(parts, (1.0, validation, test), strict=True):
            if share and not part.documents:
                raise GradlabError(
                    f"{self.name} is too short to be divided: of its {counted(self.size, 'byte')} no line is left for "
                    "one of the splits. Give more text, or larger shares."
                )
        return parts

    def _border(self, share: float, near: int) -> int:
        """Where to cut, counted in bytes over all documents."""
        wanted = round(share * self.size)
        starts = [0, *accumulate(document.size for document in self.documents)]
        after = min(bisect_right(starts, wanted), len(starts) - 1)
        nearest = min(starts[after - 1 : after + 1], key=lambda start: abs(start - wanted))
        if abs(nearest - wanted) <= near:
            return nearest
        return starts[after - 1] + self.documents[after - 1].line_from(wanted - starts[after - 1])

    def _between(self, start: int, stop: int) -> "Corpus":
        cut, place = [], 0
        for document in self.documents:
            low, high = max(start - place, 0), min(stop - place, document.size)
            if low < high:
                cut.append(document.part(low, high))
            place += document.size
        return Corpus(name=self.name, documents=cut)


def text_files(path: str | Path, suffixes: Sequence[str] = (".txt",)) -> Corpus:
    """A file, whatever its name, or the files of a folder and its folders that end so, in the order of their paths.

    What begins with a dot is passed over, and in a folder what is empty.
    """
    root = Path(path)
    if root.is_file():
        return _corpus(str(root), [root])
    if not root.is_dir():
        raise GradlabError(
            f"{path} is neither a file nor a folder. Name a text file, or a folder of them: --data PATH."
        )
    below = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    files = [f for f in below if f.name.endswith(tuple(suffixes))]
    shown = [f for f in files if not any(part.startswith(".") for part in f.relative_to(root).parts)]
    if not shown:
        raise GradlabError(f"{path} has no file in it that ends in {' or '.join(suffixes)}.")
    return _corpus(str(root), sorted(shown, key=lambda f: f.relative_to(root).parts))


def pydoc_topics() -> Corpus:
    """The topics of Python's `help`, by name: half a megabyte of English about the language."""
    from pydoc_data.topics import topics

    return Corpus(name="pydoc topics", documents=[Document.of(name, topics[name]) for name in sorted(topics)])


def stdlib_source(limit: int | None = None) -> Corpus:
    """The source of the standard library of the Python that runs, without its tests: some 12 MB.

    In the order of the paths; with a limit, as many whole files from the first on as stay within so many bytes.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(root.rglob("*.py"), key=lambda f: f.relative_to(root).parts)
    library = _corpus("standard library", [f for f in files if not _NOT_LIBRARY & set(f.relative_to(root).parts)])
    if limit is None:
        return library
    sizes = accumulate(document.size for document in library)
    within = [document for document, total in zip(library, sizes, strict=True) if total <= limit]
    if not within:
        raise GradlabError(f"No file of the standard library is within the limit of {counted(limit, 'byte')}.")
    return Corpus(name=library.name, documents=within)


def _corpus(name: str, files: Sequence[Path]) -> Corpus:
    documents = [document for document in map(Document.at, files) if document.size]
    if not documents:
        raise GradlabError(f"{name} is empty. There must be text in it.")
    return Corpus(name=name, documents=documents)
