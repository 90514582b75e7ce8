"""`gradlab bench cuda`: all that is measured on a GPU, in some minutes."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from gradlab.bench.attention.alone import bench_attention_alone
from gradlab.bench.cuda.training import WORKS, bench_train_cuda
from gradlab.bench.decoding.cuda import bench_decode_cuda
from gradlab.bench.language.context import bench_context
from gradlab.cli.benchmarks.attention import save_pictures, show_attention
from gradlab.cli.benchmarks.decode import show_decode_cuda
from gradlab.cli.benchmarks.language import show_context
from gradlab.cli.benchmarks.output import OUTPUT, Output, make_folder, print_results, progress
from gradlab.cli.benchmarks.train import show_train_cuda

# Without fp8, and a GRU, which is as an LSTM.
_WORKS = {"gpt": ("gradlab", "hugging-face"), "lstm": WORKS["lstm"], "mlp": WORKS["mlp"]}


def cuda(*, out: Path | None = None, output: Output = OUTPUT) -> None:
    """What a GPU does, in some minutes: attention by itself, training, writing, and long contexts.

    It is `bench attention`, of which only attention by itself at three lengths, `bench train` without fp8 and the GRU,
    `bench decode`, and `bench context`, of which softmax and linear attention at 16,384 and 65,536 tokens, all with
    `--device cuda` and in fewer steps.

    Example: `gradlab bench cuda`

    Parameters
    ----------
    out
        A folder for pictures (SVG) of attention's time and memory against the length, with the exponents.
    """
    make_folder(out)
    began = time.monotonic()
    results: list[Any] = []

    def timed(text: str) -> None:
        progress(f"{time.monotonic() - began:4.0f} s  {text}")

    def show(ready: Sequence[Any], tables: Callable[[Console, Sequence[Any]], None]) -> None:
        """At once: the whole takes minutes."""
        results.extend(ready)
        if not output.as_json:
            output.show(ready, tables)

    # Of peers, those that need minutes to tune themselves are left out.
    attention = bench_attention_alone(timed, lengths=(4096, 16384, 65536), others=(), peers=("chunks",))
    show([attention], show_attention)
    save_pictures([attention], out)
    for trained in bench_train_cuda(timed, _WORKS, steps=30, mlp={"epochs": 4}):
        show([trained], show_train_cuda)
    show(bench_decode_cuda(timed, new=128), show_decode_cuda)
    show([bench_context(timed, (16384, 65536), attentions=("softmax", "linear"), steps=10)], show_context)
    if output.as_json:
        print_results(results)
