"""Sources of examples, their splits and their preprocessing."""

from gradlab.data import arrays, bundled, cifar, csv_files, generated, idx, images  # noqa: F401  (they register their sources)
from gradlab.data.dataset import Dataset, load, sources
from gradlab.data.examples import Batch, Examples, Inputs
from gradlab.data.order import permutation
from gradlab.data.preprocessing import Preprocessing
from gradlab.data.raw import Raw, Targets, Wants
from gradlab.data.readers import reader_of
from gradlab.data.reading import ArrayReader, Reader, Reading, read_inputs

__all__ = [
    "ArrayReader",
    "Batch",
    "Dataset",
    "Examples",
    "Inputs",
    "Preprocessing",
    "Raw",
    "Reader",
    "Reading",
    "Targets",
    "Wants",
    "load",
    "permutation",
    "read_inputs",
    "reader_of",
    "sources",
]
