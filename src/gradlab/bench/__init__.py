"""gradlab beside its peers, so that every claim can be measured again. Importing this imports nothing heavy."""

from gradlab.bench.against import bench_against
from gradlab.bench.arena import Row, Table, bench_train
from gradlab.bench.attention import MECHANISMS, Growth, bench_attention
from gradlab.bench.attention_alone import AttentionAlone, bench_attention_alone
from gradlab.bench.cases import CASES, TEXT_CASES
from gradlab.bench.compiling import Compiling, bench_compile
from gradlab.bench.contestants import ENTRIES, TEXT_ENTRIES
from gradlab.bench.context import ATTENTIONS, ContextTrained, bench_context
from gradlab.bench.decode import Decoded, bench_decode
from gradlab.bench.decode_cuda import CudaDecoded, bench_decode_cuda
from gradlab.bench.doctor import CorpusPart, bench_doctor
from gradlab.bench.doctor_overhead import Overhead, bench_doctor_overhead
from gradlab.bench.language import RECIPES, Learned, bench_language
from gradlab.bench.precision import Precision, bench_precision
from gradlab.bench.speculative import Speculated, bench_speculative
from gradlab.bench.start import StartRow, bench_start
from gradlab.bench.tables import TABLES, Scored, bench_tables
from gradlab.bench.train_cuda import CudaTrained, bench_train_cuda

__all__ = [
    "ATTENTIONS",
    "CASES",
    "ENTRIES",
    "MECHANISMS",
    "RECIPES",
    "TABLES",
    "TEXT_CASES",
    "TEXT_ENTRIES",
    "AttentionAlone",
    "Compiling",
    "ContextTrained",
    "CudaDecoded",
    "CudaTrained",
    "Decoded",
    "Growth",
    "Learned",
    "Overhead",
    "CorpusPart",
    "Precision",
    "Row",
    "Scored",
    "Speculated",
    "StartRow",
    "Table",
    "bench_against",
    "bench_attention",
    "bench_attention_alone",
    "bench_compile",
    "bench_context",
    "bench_decode",
    "bench_decode_cuda",
    "bench_doctor",
    "bench_doctor_overhead",
    "bench_language",
    "bench_precision",
    "bench_speculative",
    "bench_start",
    "bench_tables",
    "bench_train",
    "bench_train_cuda",
]
