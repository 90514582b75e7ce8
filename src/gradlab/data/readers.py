"""Readers and preparations, made again from what a run says of them."""

from collections.abc import Callable, Mapping
from typing import Any

from gradlab.data.graphs.preparation import GraphPreparation
from gradlab.data.graphs.reader import GraphReader
from gradlab.data.own import Ready
from gradlab.data.pairs.prepare import Pairing
from gradlab.data.pairs.reader import SentenceReader
from gradlab.data.pairs.sentences import Sentences
from gradlab.data.pictures.reader import PictureReader
from gradlab.data.preparation import Preparation
from gradlab.data.preprocessing import Preprocessing
from gradlab.data.reading import ArrayReader, Reader
from gradlab.data.series.lookback import Lookback
from gradlab.data.series.reader import SeriesReader
from gradlab.data.tables.reader import TableReader
from gradlab.data.text.reader import TextReader
from gradlab.data.text.source import Context
from gradlab.data.text.texts import LeadingTokens
from gradlab.errors import GradlabError
from gradlab.files import check_content
from gradlab.printable import printable


def reader_of(described: Mapping[str, Any] | None, shape: tuple[int, ...]) -> Reader:
    """The reader that data.json describes; without one, inputs are arrays of this shape."""
    if described is None:
        return ArrayReader(shape)
    kind = str(described.get("kind"))
    if kind not in _READERS:
        raise GradlabError(f"data.json names a reader of kind {printable(kind, 60)}, which this version does not know.")
    return check_content({k: v for k, v in described.items() if k != "kind"}, _READERS[kind], "data.json (reader)")


_READER_KINDS: tuple[type[Any], ...] = (
    ArrayReader,
    TableReader,
    PictureReader,
    SeriesReader,
    TextReader,
    SentenceReader,
    GraphReader,
)
_READERS: dict[str, type[Reader]] = {kind.kind: kind for kind in _READER_KINDS}
_PREPARATIONS: dict[str, type[Preparation]] = {
    kind.kind: kind
    for kind in (Preprocessing, Context, LeadingTokens, Lookback, GraphPreparation, Ready, Pairing, Sentences)
}


def preparation_of(described: Mapping[str, Any], targets: dict[str, Any], read: Callable[[str], str]) -> Preparation:
    """How examples became inputs, as data.json says; `read` gives the other files of the run."""
    values = dict(described)
    # Runs of version 0.1 do not say the kind.
    unsaid = "texts" if "vocabulary" in values else "text" if "context" in values else "arrays"
    kind = str(values.pop("kind", unsaid))
    if kind not in _PREPARATIONS:
        raise GradlabError(f"data.json names inputs of kind {printable(kind, 60)}, which this version does not know.")
    try:
        return _PREPARATIONS[kind].read_back(values, targets, read)
    except (KeyError, TypeError) as error:
        raise GradlabError(f"data.json is damaged: its inputs, of kind {kind!r}, have no {error}.") from None
