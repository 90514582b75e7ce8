"""gradlab beside its peers, so that every claim can be measured again. Importing this imports nothing heavy."""

from gradlab.bench.arena import Row, Table, bench_train
from gradlab.bench.cases import CASES
from gradlab.bench.compiling import Compiling, bench_compile
from gradlab.bench.contestants import ENTRIES
from gradlab.bench.start import bench_start

__all__ = ["CASES", "ENTRIES", "Compiling", "Row", "Table", "bench_compile", "bench_start", "bench_train"]
