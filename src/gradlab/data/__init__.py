"""Sources of examples, their splits and their preprocessing."""

from gradlab.data import arrays, bundled, generated, idx  # noqa: F401  (they register their sources)
from gradlab.data.dataset import Dataset, load, sources
from gradlab.data.examples import Batch, Examples, Inputs
from gradlab.data.order import permutation
from gradlab.data.preprocessing import Preprocessing
from gradlab.data.raw import Raw, Targets
from gradlab.data.reading import read_inputs

__all__ = [
    "Batch",
    "Dataset",
    "Examples",
    "Inputs",
    "Preprocessing",
    "Raw",
    "Targets",
    "load",
    "permutation",
    "read_inputs",
    "sources",
]
