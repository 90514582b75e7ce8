"""Where texts with classes come from: a table, a folder for each class, and Python's own docstrings."""

import ast
import hashlib
import json
import sysconfig
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

from gradlab.data.dataset import sources
from gradlab.data.folders import ClassFolders
from gradlab.data.naming import columns_to_name
from gradlab.data.tables.columns import MISSING
from gradlab.data.tables.csv_files import check_classes
from gradlab.data.tables.records import Records
from gradlab.data.text.corpus import Corpus
from gradlab.data.text.documents import Document
from gradlab.data.text.reader import TextReader
from gradlab.data.text.texts import Texts, as_array, prepare_texts
from gradlab.errors import GradlabError, unknown
from gradlab.wording import counted

_PACKAGES = (
    "asyncio", "email", "http", "importlib", "logging", "multiprocessing", "tkinter", "unittest", "urllib", "xml",
)  # fmt: skip
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@sources.register("texts", shared=prepare_texts)
def texts(
    seed: int,
    *,
    path: Annotated[str, "CSV file, or folder with a folder of text files for each class: --data FILE or FOLDER"],
    text: Annotated[str | None, "of a CSV file: the column that holds the texts"] = None,
    target: Annotated[str | None, "of a CSV file: the column to predict"] = None,
    separator: Annotated[str, "between values; auto: the commonest of , ; tab | in the first line"] = "auto",
    encoding: Annotated[str, "of a CSV file"] = "utf-8",
    suffixes: Annotated[list[str], "which files of a folder are read"] = [".txt"],  # noqa: B006
) -> Texts:
    """Your own texts, each of a class: a column of a CSV file, or a folder of text files for each class."""
    place = Path(path)
    if place.is_dir():
        if text is not None or target is not None:
            raise GradlabError(f"data.text and data.target name columns of a CSV file, but {path} is a folder.")
        return _from_folders(place, suffixes)
    if not place.is_file():
        raise GradlabError(
            f"{path} is neither a file nor a folder. Name a CSV file, or a folder with a folder of texts for each "
            "class: --data FILE or FOLDER."
        )
    records = Records(place, separator, encoding)
    for knob, name, what in (("text", text, "holds the texts"), ("target", target, "is to be predicted")):
        if name is None:
            raise GradlabError(f"data.{knob} must be given: which column {what}. {columns_to_name({'path': path})}")
        if name not in records.names:
            raise unknown(f"column in {path},", name, records.names)
    assert text is not None
    assert target is not None
    return _from_table(place, records, text, target, encoding)


def _from_table(path: Path, records: Records, text: str, target: str, encoding: str) -> Texts:
    documents, labels, notes = [], [], []
    empty, missing = list[str](), list[str]()
    for block in records:
        columns = block.texts([records.names.index(name) for name in (text, target)])
        for row, (content, label) in enumerate(zip(*columns, strict=True)):
            if not content:
                empty.append(block.where(row))
            elif label in MISSING:
                missing.append(block.where(row))
            else:
                documents.append(Document.of(f"{path}, {block.where(row)}", content))
                labels.append(label)
    for left_out, name, what in ((empty, text, "empty"), (missing, target, "missing")):
        if left_out:
            notes.append(
                f"Left out {counted(len(left_out), 'row')} in which {name!r} is {what}, such as {left_out[0]}."
            )
    if not documents:
        raise GradlabError(f"{path} has no row with a text in {text!r} and a class in {target!r}.")
    reader = TextReader(column=text, separator=records.separator, encoding=encoding, target=target)
    return labelled_texts(f"{path}, column {target!r}", documents, labels, notes=notes, reader=reader)


def _from_folders(root: Path, suffixes: Sequence[str]) -> Texts:
    folders = ClassFolders(root, "text", lambda path: path.name.endswith(tuple(suffixes)))
    documents = [_stripped(path) for path in folders.files]
    reader = TextReader(suffixes=list(suffixes))
    return labelled_texts(
        str(root), documents, folders.labels, starts=folders.starts, notes=folders.notes, reader=reader
    )


def _stripped(path: Path) -> Document:
    """A file without the white space around its text, which a column of a table has not either."""
    document = Document.at(path)
    if not document.read().strip():
        raise GradlabError(f"{path} is empty: it cannot be classified. Remove it.")
    content = path.read_bytes()
    return document.part(len(content) - len(content.lstrip()), len(content.rstrip()))


@sources.register("docstrings", shared=prepare_texts)
def docstrings(seed: int) -> Texts:
    """Docstrings of ten packages that every Python brings along, and which package each is of: some 2600."""
    root = Path(sysconfig.get_paths()["stdlib"])
    documented: dict[tuple[str, str], None] = {}  # each once: some are repeated within a package
    for package in _PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            if not {"test", "tests"} & set(file.relative_to(root).parts):
                nodes = (node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, _DOCUMENTED))
                documented |= {(text, package): None for text in map(ast.get_docstring, nodes) if text and text.strip()}
    documents = [Document.of(f"a docstring of {package}", text) for text, package in documented]
    return labelled_texts("docstrings", documents, [package for _, package in documented], reader=TextReader())


def labelled_texts(
    where: str,
    documents: Sequence[Document],
    labels: Sequence[str],
    *,
    starts: dict[str, int] | None = None,
    notes: list[str] | None = None,
    reader: TextReader,
) -> Texts:
    starts = starts or {}
    counts = Counter(labels)
    classes = sorted(counts)
    check_classes(classes, where)
    alone = [name for name in classes if counts[name] == 1]
    if alone:
        others = f" (and {len(alone) - 1:,} more classes)" if len(alone) > 1 else ""
        raise GradlabError(
            f"{where}: the class {alone[0]!r}{others} has a single example, which cannot be both learned and judged. "
            "Add examples, or leave it out."
        )
    content = [Corpus(name=where, documents=documents).key(), list(labels), starts]
    return Texts(
        inputs=as_array(documents),
        targets=np.array([classes.index(label) for label in labels], dtype=np.int64),
        classes=classes,
        validation_from=starts.get("validation"),
        test_from=starts.get("test"),
        notes=notes or [],
        reader=reader,
        key=hashlib.sha256(json.dumps(content).encode()).hexdigest(),
    )
