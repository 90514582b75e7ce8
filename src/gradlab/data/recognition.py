"""What kind of data a path has, by a look at it, and which trainings it could be for."""

import codecs
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from gradlab.data.graphs.reader import NODES, folders_of_graphs
from gradlab.data.pictures.reader import is_picture
from gradlab.data.public.cifar import CIFAR10, CIFAR100
from gradlab.data.tables.summary import TableSummary
from gradlab.errors import GradlabError
from gradlab.printable import printable

_COLUMN = "COLUMN"  # stands for one that only the user knows
_LOOK, _LINES, _FILES = 2**16, 100, 1000  # bytes, lines and files that are looked at
_TABLES = (".csv", ".tsv")
_FRAMES = (".parquet", ".feather", ".arrow", ".xlsx", ".xls", ".ods", ".jsonl", ".json", ".dta", ".sav")
_PACKED = (".gz", ".zip", ".tar", ".tgz", ".bz2", ".xz", ".zst", ".7z")


@dataclass(frozen=True)
class SuggestedTraining:
    """A recipe that data could be trained with, values that the data say, and keys that the user has to name."""

    recipe: str
    source: str
    purpose: str
    values: Mapping[str, str] = field(default_factory=dict)
    to_name: Mapping[str, str] = field(default_factory=dict)
    """Each with a likely value."""

    @property
    def settings(self) -> dict[str, str]:
        """All of these values, by short keys."""
        return {key.removeprefix("data."): value for key, value in {**self.values, **self.to_name}.items()}

    @property
    def call(self) -> str:
        """The training on a frame in Python."""
        return f"gradlab.train({self.recipe!r}, {self.settings}, data=frame)"


@dataclass(frozen=True)
class PathKind:
    """What is at a path, in words, and the trainings that it suggests, the likeliest first."""

    noun: str
    trainings: tuple[SuggestedTraining, ...]
    table: Path | None = None
    """The file with the columns that are to be named."""

    def commands(self, path: Path) -> dict[str, str]:
        """What could be done, and the command for it."""
        return {training.purpose: self._command(training, path) for training in self.trainings}

    def calls(self) -> dict[str, str]:
        """The same for a frame in Python."""
        return {training.purpose: training.call for training in self.trainings}

    def _command(self, training: SuggestedTraining, path: Path) -> str:
        typed = f"{path}/" if path.is_dir() else str(path)  # a folder may have the name of a recipe
        words, known = [training.recipe, "--data", typed], set[str]()
        if training is self.trainings[0]:  # which the path alone stands for, with its values
            words, known = [typed], {key.removeprefix("data.") for key in training.values}
        texts = (f"{key}={value}" for key, value in training.settings.items() if key not in known)
        return shlex.join(["gradlab", "train", *words, *texts])


def recognize(path: Path) -> PathKind:
    """The kind of data that a path has; what gradlab cannot read is refused with what to do about it."""
    if not path.exists():
        raise GradlabError(f"There is no file or folder {path}.")
    kind = next(filter(None, (look(path) for look in (_FOLDER_LOOKS if path.is_dir() else _FILE_LOOKS))), None)
    if kind is None:
        raise GradlabError(f"{path} is no data that gradlab knows. {_advice(path)}")
    return kind


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run."""
    return (path / "recipe.toml").is_file()


# Folders.


def _graphs(path: Path) -> PathKind | None:
    within = [path] if (path / NODES).is_file() else folders_of_graphs(path)
    if not within:
        return None
    target = TableSummary.read(within[0] / NODES, beginning=True).likely_target or _COLUMN
    level = {} if within == [path] else {"data.level": "graph"}
    predict = "predict a column of the nodes" if within == [path] else "predict a column of the graphs"
    trainings = [SuggestedTraining("graph", "graph", predict, level, {"data.target": target})]
    if within == [path]:
        trainings.append(SuggestedTraining("graph", "graph", "predict where edges are", {"data.level": "edge"}))
    return PathKind("a graph" if within == [path] else "graphs", tuple(trainings), within[0] / NODES)


def _idx(path: Path) -> PathKind | None:
    if not any(path.glob("train-images*idx3-ubyte*")):
        return None
    return PathKind("images in the idx format of MNIST", _classify_images("mnist-lenet", "mnist"))


def _cifar(path: Path) -> PathKind | None:
    for layout, recipe in ((CIFAR10, "cifar10-lenet"), (CIFAR100, "cifar100-lenet")):
        if (path / layout.train[0]).is_file() or (path / layout.folder).is_dir() or (path / layout.archive).is_file():
            return PathKind("images in the binary format of CIFAR", _classify_images(recipe, layout.source))
    return None


def _classify_images(recipe: str, source: str) -> tuple[SuggestedTraining, ...]:
    return (SuggestedTraining(recipe, source, "classify the images"),)


def _images(path: Path) -> PathKind | None:
    files = [file for file in _some_files(path) if is_picture(file)]
    if not files:
        return None
    generate = SuggestedTraining("images-diffusion", "pictures", "generate more of them")
    if _has_class_folders(path, files):
        return PathKind("images, a folder for each class", (*_classify_images("images", "images"), generate))
    return PathKind("images without classes", (generate,))


def _text_folder(path: Path) -> PathKind | None:
    files = [file for file in _some_files(path) if file.suffix == ".txt"]
    if not files:
        return None
    if _has_class_folders(path, files):
        classify = SuggestedTraining("text-classifier", "texts", "classify the texts")
        return PathKind("texts, a folder for each class", (classify, *_LANGUAGE))
    return PathKind("text files", _LANGUAGE)


def _has_class_folders(path: Path, files: list[Path]) -> bool:
    """Whether all files are in one of several folders, or in folders of those for each split."""
    parts = [file.relative_to(path).parts for file in files]
    first = {folder for folder, *_ in parts}
    if first & {"train", "training"}:
        return any(len(each) > 2 for each in parts)
    return len(first) > 1 and all(len(each) > 1 for each in parts)


def _some_files(path: Path) -> list[Path]:
    """Files below a folder, a limited number for each of its folders."""
    folders = sorted(p for p in path.iterdir() if not p.name.startswith("."))
    below: Iterable[Path] = (f for p in folders for f in ([p] if p.is_file() else islice(p.rglob("*"), _FILES)))
    return [file for file in below if file.is_file()]


# Files.


def _arrays(path: Path) -> PathKind | None:
    if path.suffix.lower() != ".npz":
        return None
    return PathKind("arrays", (SuggestedTraining("npz", "npz", "predict the array y from the array x"),))


def _sentence_pairs(path: Path) -> PathKind | None:
    """Lines with a tab between two sentences, which differ from line to line."""
    lines = _text(path).splitlines()[:_LINES]
    rows = [line.split("\t") for line in lines if line.strip()]
    if path.suffix.lower() == ".csv" or not rows or any(len(row) != 2 for row in rows):
        return None
    sides = [set(side) for side in zip(*rows, strict=True)]
    words = [sum(len(text.split()) for text in side) / len(side) for side in sides]
    if any(2 * len(side) <= len(rows) for side in sides) or max(words) < 2:
        return None
    translate = SuggestedTraining("translate", "pairs", "learn to write the second text of each line from the first")
    return PathKind("pairs of texts", (translate,))


def _table(path: Path) -> PathKind | None:
    if path.suffix.lower() not in _TABLES:
        return None
    try:
        summary = TableSummary.read(path, beginning=True)
    except GradlabError:  # which may be read with an encoding or a separator that is named
        return PathKind("a table", (_predict_column(None),), path)
    if {"file", "caption"} <= set(summary.names):
        caption = SuggestedTraining("captions", "captions", "write captions for the images")
        return PathKind("images with captions", (caption,), path)
    table = _predict_column(summary.likely_target)
    texts = _text_classes(summary)
    others = [c for c in summary.columns if c.can_be_target and c.name != summary.likely_target]
    inputs = others or summary.select_kind("date")
    trainings = (texts,) if texts and not inputs else (table, texts)
    return PathKind("a table", tuple(filter(None, (*trainings, _forecast(summary)))), path)


def _predict_column(target: str | None) -> SuggestedTraining:
    return SuggestedTraining("csv", "csv", "predict a column from the others", {}, {"data.target": target or _COLUMN})


def _text_classes(summary: TableSummary) -> SuggestedTraining | None:
    if summary.text_column is None or summary.likely_target is None:
        return None
    values, to_name = {"data.text": summary.text_column}, {"data.target": summary.likely_target}
    return SuggestedTraining("text-classifier", "texts", "predict a column from a text", values, to_name)


def _forecast(summary: TableSummary) -> SuggestedTraining | None:
    """Of a table with a number for each date, or for each date of each series."""
    dates, numbers = summary.select_kind("date"), [c for c in summary.select_kind("number") if not c.is_identifier]
    if not dates or not numbers:
        return None
    names = [c.name for c in summary.select_kind("category") if summary.rows == c.distinct * dates[0].distinct]
    if dates[0].distinct < summary.rows and not names:
        return None
    series = {"data.series": names[0]} if dates[0].distinct < summary.rows else {}
    target = max(numbers, key=lambda column: column.distinct)  # the others may be flags, such as holidays
    to_name = {"data.time": dates[0].name, "data.target": target.name, **series, "data.horizon": "14"}
    return SuggestedTraining("forecast", "series", "forecast a column", {}, to_name)


def _plain_text(path: Path) -> PathKind | None:
    if path.suffix.lower() in (*_FRAMES, *_TABLES) or not _text(path).strip():
        return None
    return PathKind("text", _LANGUAGE)


def _text(path: Path) -> str:
    """How a file begins, if it is UTF-8; else nothing."""
    try:
        with path.open("rb") as file:
            content = file.read(_LOOK)
    except OSError as error:
        raise GradlabError(f"{path} cannot be read: {error.strerror}.") from None
    try:  # what is longer may end within a character here
        text = codecs.getincrementaldecoder("utf-8")().decode(content, final=len(content) < _LOOK)
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else text


_LANGUAGE = (
    SuggestedTraining("text-gpt", "text", "learn to continue the text"),
    SuggestedTraining("text-bert", "text", "learn to fill in hidden words"),
)
_FOLDER_LOOKS: tuple[Callable[[Path], PathKind | None], ...] = (_graphs, _idx, _cifar, _images, _text_folder)
_FILE_LOOKS: tuple[Callable[[Path], PathKind | None], ...] = (_arrays, _sentence_pairs, _table, _plain_text)


def _advice(path: Path) -> str:
    """What to do about data that no source reads."""
    suffix = path.suffix.lower()
    if path.is_dir():
        return (
            "A folder has images or text files, in a folder for each class or without classes; nodes.csv and edges.csv "
            "of a graph; or the files of MNIST or CIFAR."
        )
    if suffix in _FRAMES:
        return (
            "Read it with pandas or polars, and pass the frame: "
            f'gradlab.train("csv", data=frame, target="{_COLUMN}"). Or save it as CSV.'
        )
    if suffix in _PACKED:
        return "Unpack it first."
    if suffix == ".npy":
        return "Save inputs and targets together: numpy.savez(FILE, x=inputs, y=targets)."
    if is_picture(path):
        return f"It is one image: name the folder that has all of them, {printable(path.parent)}."
    return "Files are tables (.csv, .tsv), arrays (.npz with x and y), UTF-8 text, and pairs of texts (.tsv)."
