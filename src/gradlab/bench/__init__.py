"""gradlab beside its peers, so that every claim can be measured again. Importing this imports nothing heavy."""

from gradlab.bench.arena import Row, Table, bench_train
from gradlab.bench.cases import CASES
from gradlab.bench.compiling import Compiling, bench_compile
from gradlab.bench.contestants import ENTRIES
from gradlab.bench.precision import Precision, bench_precision
from gradlab.bench.start import bench_start

__all__ = [
    "CASES",
    "ENTRIES",
    "Compiling",
    "Precision",
    "Row",
    "Table",
    "bench_compile",
    "bench_precision",
    "bench_start",
    "bench_train",
]
