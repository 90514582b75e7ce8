"""Readers, made again from what a run says of them."""

from collections.abc import Mapping
from typing import Any

from gradlab.data.pictures.reader import PictureReader
from gradlab.data.reading import ArrayReader, Reader
from gradlab.data.tables.reader import TableReader
from gradlab.data.text.reader import TextReader
from gradlab.errors import GradlabError


def reader_of(described: Mapping[str, Any] | None, shape: tuple[int, ...]) -> Reader:
    """The reader that data.json describes; without one, inputs are arrays of this shape."""
    if described is None:
        return ArrayReader(shape)
    try:
        if described["kind"] == TableReader.kind:
            return TableReader.read_back(described)
        if described["kind"] == PictureReader.kind:
            return PictureReader.read_back(described)
        if described["kind"] == TextReader.kind:
            return TextReader.read_back(described)
    except (KeyError, TypeError) as error:
        raise GradlabError(f"data.json is damaged: its reader has no {error}.") from None
    raise GradlabError(f"data.json names a reader {described['kind']!r}, which this version does not know.")
