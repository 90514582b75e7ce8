"""Sources of examples, their splits and their preprocessing."""

from gradlab.data import adding, arrays, bundled, generated  # noqa: F401  (they register their sources)
from gradlab.data.batch import Batch
from gradlab.data.captions import captioned, shapes  # noqa: F401
from gradlab.data.dataset import Dataset, load, sources
from gradlab.data.environment import Acting, Episodes
from gradlab.data.examples import Examples
from gradlab.data.graphs import files as graph_files  # noqa: F401
from gradlab.data.graphs import generated as graphs_generated  # noqa: F401
from gradlab.data.graphs.preparation import GraphPreparation
from gradlab.data.order import permutation
from gradlab.data.pairs import copying, dates, files  # noqa: F401
from gradlab.data.pairs.prepare import PairedExamples, Pairing
from gradlab.data.pictures import images  # noqa: F401
from gradlab.data.preparation import Preparation
from gradlab.data.preprocessing import Preprocessing
from gradlab.data.public import cifar, idx  # noqa: F401
from gradlab.data.raw import Raw, Targets, Wants
from gradlab.data.readers import preparation_of, reader_of
from gradlab.data.reading import ArrayReader, Reader, Reading, read_inputs
from gradlab.data.series import csv_files as series_files  # noqa: F401
from gradlab.data.series import generated as series_generated  # noqa: F401
from gradlab.data.streams import Epochs, Stream
from gradlab.data.tables import csv_files  # noqa: F401
from gradlab.data.text import classes, recall  # noqa: F401
from gradlab.data.text.source import Context, Text
from gradlab.data.text.texts import LeadingTokens
from gradlab.data.text.tokenizer import Tokenizer

__all__ = [
    "Acting",
    "ArrayReader",
    "Batch",
    "LeadingTokens",
    "Context",
    "Dataset",
    "Epochs",
    "Episodes",
    "Examples",
    "GraphPreparation",
    "PairedExamples",
    "Pairing",
    "Preparation",
    "Preprocessing",
    "Raw",
    "Reader",
    "Reading",
    "Stream",
    "Targets",
    "Text",
    "Tokenizer",
    "Wants",
    "load",
    "permutation",
    "preparation_of",
    "read_inputs",
    "reader_of",
    "sources",
]
