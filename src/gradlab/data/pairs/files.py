"""Pairs of one's own: a file with both sides of a pair on a line, or two files whose lines belong together."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from gradlab.data.dataset import sources
from gradlab.data.pairs.prepare import PairedExamples, Pairing, prepare_pairs
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pairs.reader import SentenceReader, read_lines
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError, unknown
from gradlab.printable import printable
from gradlab.wording import counted

Columns = Annotated[list[str] | None, "of a file whose first line names columns: that of the sources, of the targets"]
File = str | None


class Lines(NamedTuple):
    """Sources and targets, and where each pair stands."""

    sources: list[str]
    targets: list[str]
    places: list[str]


@sources.register("pairs", shared=prepare_pairs)
def pairs(
    seed: int,
    *,
    path: Annotated[File, "a text file, a pair on each line with a tab between source and target: --data FILE"] = None,
    columns: Columns = None,
    source_file: Annotated[File, "instead: a file with a source on each line"] = None,
    target_file: Annotated[File, "and a file with their targets, line by line"] = None,
    validation_file: Annotated[File, "pairs that are held out while training"] = None,
    test_file: Annotated[File, "pairs for the final figures"] = None,
    validation_source_file: Annotated[File, "the same as two files"] = None,
    validation_target_file: Annotated[File, "their targets, line by line"] = None,
    test_source_file: Annotated[File, "the same as two files"] = None,
    test_target_file: Annotated[File, "their targets, line by line"] = None,
    reconstruct: Annotated[bool, "a file with one text on each line, which is source and target"] = False,
) -> Pairs:
    """Your own pairs of texts, such as sentences and their translations."""
    parts = {
        "train": _split("data.", path, source_file, target_file, columns, reconstruct),
        "validation": _split(
            "data.validation_",
            validation_file,
            validation_source_file,
            validation_target_file,
            columns,
            reconstruct,
        ),
        "test": _split("data.test_", test_file, test_source_file, test_target_file, columns, reconstruct),
    }
    if parts["train"] is None:
        raise GradlabError("Where are the pairs? Name --data PAIRS.tsv, or data.source_file=… and data.target_file=….")
    joined, starts = Lines([], [], []), dict[str, int]()
    for name, part in parts.items():
        if part is not None:
            starts[name] = len(joined.sources)
            for whole, more in zip(joined, part, strict=True):
                whole.extend(more)
    starts.pop("train")
    reader = SentenceReader(column=columns[0] if columns else None)
    return Pairs.of_texts(joined.sources, joined.targets, joined.places.__getitem__, reader, starts=starts)


def read_pairs(path: Path, columns: Sequence[str] | None = None, reconstruct: bool = False) -> Lines:
    """Pairs from the lines of a file."""
    lines = read_lines(_existing(path))
    first = 1
    places = (0, 1)
    if columns is not None:
        if len(columns) != 2:
            raise GradlabError(f"data.columns names two columns, of sources and of targets; got {len(columns)}.")
        names, lines, first = (lines or [""])[0].split("\t"), lines[1:], 2
        for name in columns:
            if name not in names:
                raise unknown(f"column in {path},", name, names)
        places = names.index(columns[0]), names.index(columns[1])
    read = Lines([], [], [])
    for number, line in enumerate(lines, first):
        where = f"{path}, line {number}"
        values = [line, line] if reconstruct else line.split("\t")
        if len(values) <= max(places) and not (reconstruct):
            raise GradlabError(
                f"{where}: there is no tab between a source and a target in {printable(line, 60)!r}. "
                "A file of single texts is learned with data.reconstruct=true."
            )
        _add(read, values[places[0]], values[places[1]], where)
    return _not_empty(read, path)


def new_pairs(path: str, pairing: Pairing, values: Mapping[str, Any]) -> PairedExamples:
    """Other pairs, as a model that was trained on some reads them."""
    read = read_pairs(Path(path), values.get("columns"), values.get("reconstruct", False))
    inputs, targets = pairing.source(as_array(read.sources)), pairing.target(as_array(read.targets))
    rows = np.arange(len(read.sources))
    return PairedExamples({"inputs": inputs, "targets": targets}, rows, references=as_array(read.targets))


def read_aligned(source: Path, target: Path) -> Lines:
    """Pairs from two files with as many lines."""
    sides = [read_lines(_existing(path)) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise GradlabError(
            f"{source} has {counted(len(sides[0]), 'line')} and {target} has {len(sides[1]):,}: line n of one must "
            "belong to line n of the other."
        )
    read = Lines([], [], [])
    for number, (one, other) in enumerate(zip(*sides, strict=True), 1):
        _add(read, one, other, f"{source}, line {number}", f"{target}, line {number}")
    return _not_empty(read, source)


def _split(
    prefix: str,
    path: File,
    source: File,
    target: File,
    columns: Sequence[str] | None,
    reconstruct: bool,
) -> Lines | None:
    if (source is None) != (target is None):
        present, missing = ("source", "target") if target is None else ("target", "source")
        raise GradlabError(f"{prefix}{present}_file is set and {prefix}{missing}_file is not. Name both files.")
    if path is not None and source is not None:
        raise GradlabError(f"{path} and {source} are two places for the same pairs. Name one of them.")
    if source is not None and target is not None:
        return read_aligned(Path(source), Path(target))
    return None if path is None else read_pairs(Path(path), columns, reconstruct)


def _add(read: Lines, source: str, target: str, where: str, other: str | None = None) -> None:
    for side, text, place in (("source", source, where), ("target", target, other or where)):
        if not text.strip():
            raise GradlabError(f"{place}: the {side} is empty. Leave out the pair.")
    read.sources.append(source.strip())
    read.targets.append(target.strip())
    read.places.append(where)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise GradlabError(f"{path} is no file. Name a text file with a pair on each line: --data PAIRS.tsv.")
    return path


def _not_empty(read: Lines, path: Path) -> Lines:
    if not read.sources:
        raise GradlabError(f"{path} has no pair in it.")
    return read
