"""`gradlab bench start`, `compile` and `precision`: the first step, a compiled one, and one in bf16."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gradlab.bench.cases import CASES
from gradlab.bench.steps.compiling import Compiling, bench_compile
from gradlab.bench.steps.precision import Precision, bench_precision
from gradlab.bench.steps.start import StartRow, bench_start
from gradlab.cli.benchmarks.output import OUTPUT, Output, Rounds, figure, progress
from gradlab.cli.output import table

Cases = Annotated[str, Parameter(help="Which trainings: digits, mlp, lenet; default all.")]


def start(*, rounds: Rounds = 7, output: Output = OUTPUT) -> None:
    """Time from the start of the process to the end of the first training step.

    Example: `gradlab bench start --rounds 15`
    """
    output.show(bench_start(rounds, progress), show_start)


def show_start(screen: Console, results: Sequence[StartRow]) -> None:
    rows = ([r.title, f"{r.wall:.2f}", f"{r.cpu:.2f}", f"{r.seconds:.2f}"] for r in results)
    title = "From the start of the process to the end of the first step: ratio to the tutorial script"
    screen.print(table("", "wall", "CPU, whole process", "least seconds", rows=rows, title=title))


def compile_(*cases: Cases, rounds: Rounds = 7, output: Output = OUTPUT) -> None:
    """What compiling the step costs once and saves each time.

    Example: `gradlab bench compile digits`
    """
    output.show(bench_compile(cases or [*CASES], rounds, progress), show_compiling)


def show_compiling(screen: Console, results: Sequence[Compiling]) -> None:
    rows = (
        [
            r.title,
            f"{r.compile:.1f}",
            f"{r.recompile:.1f}",
            f"{1e6 * r.eager_step:,.0f}",
            f"{1e6 * r.compiled_step:,.0f}",
            figure(r.pays_after, ",.0f", "never"),
        ]
        for r in results
    )
    columns = ("", "compile, s", "again, s", "eager µs/step", "compiled µs/step", "pays after steps")
    screen.print(table(*columns, rows=rows, title="What torch.compile costs and saves"))


def precision(*cases: Cases, rounds: Rounds = 7, output: Output = OUTPUT) -> None:
    """A step in bf16 beside one in float32, on this CPU.

    Example: `gradlab bench precision mlp`
    """
    output.show(bench_precision(cases or [*CASES], rounds, progress), show_precision)


def show_precision(screen: Console, results: Sequence[Precision]) -> None:
    rows = ([r.title, f"{1e6 * r.float32:,.0f}", f"{1e6 * r.bf16:,.0f}", f"{r.ratio:.2f}"] for r in results)
    screen.print(
        table("", "float32 µs/step", "bf16 µs/step", "ratio", rows=rows, title="bf16 beside float32 on the CPU")
    )
