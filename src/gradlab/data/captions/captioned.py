"""Pictures of one's own with captions: a table that names a file and says what is in it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from gradlab.data.cache import file_key
from gradlab.data.captions.prepare import prepare_captions
from gradlab.data.dataset import sources
from gradlab.data.pairs.prepare import PairedExamples, Pairing
from gradlab.data.pairs.raw import Pairs
from gradlab.data.pictures.images import Colour, Fit, Size, cached_pixels, fitting_reader
from gradlab.data.pictures.reader import PictureReader
from gradlab.data.tables.records import Records
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError, unknown
from gradlab.printable import printable

_FORMAT = 1  # of what is in the cache
_FILE, _CAPTION = "file", "caption"


class Captioned(NamedTuple):
    """Pictures with captions, and where each row stands."""

    files: list[Path]
    captions: list[str]
    places: list[str]


@sources.register("captions", shared=prepare_captions)
def captions(
    seed: int,
    *,
    path: Annotated[str, "CSV file with a row for each caption: --data FILE.csv"],
    file: Annotated[str, "the column that names the file of a picture, from the folder of the table on"] = _FILE,
    caption: Annotated[str, "the column that says what is in it"] = _CAPTION,
    separator: Annotated[str, "between values; auto: the commonest of , ; tab | in the first line"] = "auto",
    encoding: Annotated[str, "of the CSV file"] = "utf-8",
    size: Size = None,
    colour: Colour = "auto",
    resize: Fit = "crop",
) -> Pairs:
    """Your own pictures with captions. A picture may have several, which then go to the same split."""
    read = read_captions(Path(path), file, caption, separator, encoding)
    reader, notes = fitting_reader(read.files, size, colour, resize)
    names = sorted(set(read.files))
    before = [(p.stat().st_size, p.stat().st_mtime_ns) for p in names]

    def check() -> None:
        if [(p.stat().st_size, p.stat().st_mtime_ns) for p in names] != before:
            raise GradlabError(
                f"Pictures of {path} changed while they were read. Try again when nothing writes to them any more."
            )

    keys = {p: file_key(p) for p in names}
    content = [_FORMAT, reader.describe(), [keys[p] for p in read.files]]
    key = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    pixels = cached_pixels(key, read.files, reader, check)
    number = {p: i for i, p in enumerate(names)}
    groups = np.array([number[p] for p in read.files], dtype=np.int64)
    where = read.places.__getitem__
    return Pairs.of_pictures(pixels, read.captions, key, where, reader, notes=notes, groups=groups)


def read_captions(
    path: Path, file: str = _FILE, caption: str = _CAPTION, separator: str = "auto", encoding: str = "utf-8"
) -> Captioned:
    """The rows of a table whose pictures are there and whose captions are not empty; others are refused by name."""
    if not path.is_file():
        raise GradlabError(
            f"{path} is no file. Name a CSV file with columns for pictures and captions: --data FILE.csv."
        )
    records = Records(path, separator, encoding)
    for name in (file, caption):
        if name not in records.names:
            raise unknown(f"column in {path},", name, records.names)
    read = Captioned([], [], [])
    for block in records:
        columns = block.texts([records.names.index(name) for name in (file, caption)])
        for row, (named, text) in enumerate(zip(*columns, strict=True)):
            _add(read, path.parent / named, text, f"{path}, {block.where(row)}")
    if not read.files:
        raise GradlabError(f"{path} has no row with a picture and its caption.")
    return read


def _add(read: Captioned, picture: Path, text: str, where: str) -> None:
    if not text:
        raise GradlabError(f"{where}: the caption is empty. Leave out the row.")
    if not picture.is_file():
        raise GradlabError(f"{where}: there is no picture {printable(picture)}.")
    read.files.append(picture)
    read.captions.append(text)
    read.places.append(where)


def new_captions(path: str, pairing: Pairing, reader: PictureReader, values: Mapping[str, Any]) -> PairedExamples:
    """Other pictures with captions, as a model that was trained on some sees them."""
    columns = {name: values[name] for name in ("file", "caption", "separator", "encoding") if name in values}
    read = read_captions(Path(path), **columns)
    inputs = pairing.source(np.stack([reader.load(picture) for picture in read.files]))
    targets = pairing.target(as_array(read.captions))
    return PairedExamples(
        {"inputs": inputs, "targets": targets}, np.arange(len(read.files)), references=as_array(read.captions)
    )
