"""`gradlab bench`."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

from rich.console import Console

from gradlab.bench import (
    CASES,
    ENTRIES,
    Compiling,
    Precision,
    Table,
    bench_compile,
    bench_precision,
    bench_start,
    bench_train,
)
from gradlab.bench.start import StartRow
from gradlab.cli.output import console, print_json, table
from gradlab.cli.training import Json, Plain
from gradlab.wording import number


def bench(
    name: Literal["train", "start", "compile", "precision"] = "train",
    /,
    *cases: str,
    rounds: int = 7,
    plain: Plain = False,
    as_json: Json = False,
) -> None:
    """Measure gradlab beside its peers on this machine, as ratios in one run.

    Examples to copy:

    - `gradlab bench train`: the same training by gradlab, the usual PyTorch loop, Lightning, Keras and skorch
    - `gradlab bench train digits --rounds 15`
    - `gradlab bench start`: from the start of the process to the first training step
    - `gradlab bench compile`: what compiling the step costs and saves
    - `gradlab bench precision`: a step in bf16 beside one in float32, on this CPU

    Peers take part where they are installed: `pip install "gradlab[bench]"`.

    Parameters
    ----------
    name
        What to measure.
    cases
        Which trainings: digits, mlp, lenet; default all.
    rounds
        How often each contestant trains; the order is drawn anew each time.
    """
    chosen = list(cases) or list(CASES)
    measure, show = _BENCHES[name]
    found = measure(chosen, rounds)
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        show(console(plain), found)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _show_training(screen: Console, found: list[Table]) -> None:
    for one in found:
        rows = (
            [
                r.title,
                f"{r.wall:.2f}",
                f"{r.cpu:.2f}",
                f"{1e6 * r.seconds / r.steps:,.0f}",
                str(r.steps),
                number(r.loss),
            ]
            for r in one.rows
        )
        title = f"{one.title}, batch {one.batch_size}, Adam: ratio to the {ENTRIES[one.reference].title}"
        columns = ("", "wall", "CPU", "best µs/step", "steps", "final loss")
        screen.print(table(*columns, rows=rows, title=title))
        screen.print(f"Medians over {one.rounds} rounds; each contestant is a process of its own.")
        for name, reason in one.absent.items():
            screen.print(f"Not taking part: {ENTRIES[name].title} ({reason}).")


def _show_start(screen: Console, found: list[StartRow]) -> None:
    rows = ([r.title, f"{r.wall:.2f}", f"{r.cpu:.2f}", f"{r.seconds:.2f}"] for r in found)
    title = "From the start of the process to the end of the first step: ratio to the tutorial script"
    screen.print(table("", "wall", "CPU, whole process", "least seconds", rows=rows, title=title))


def _show_compiling(screen: Console, found: list[Compiling]) -> None:
    rows = (
        [
            r.title,
            f"{r.compile:.1f}",
            f"{r.recompile:.1f}",
            f"{1e6 * r.eager_step:,.0f}",
            f"{1e6 * r.compiled_step:,.0f}",
            "never" if r.pays_after is None else f"{r.pays_after:,.0f}",
        ]
        for r in found
    )
    columns = ("", "compile, s", "again, s", "eager µs/step", "compiled µs/step", "pays after steps")
    screen.print(table(*columns, rows=rows, title="What torch.compile costs and saves"))


def _show_precision(screen: Console, found: list[Precision]) -> None:
    rows = ([r.title, f"{1e6 * r.float32:,.0f}", f"{1e6 * r.bf16:,.0f}", f"{r.ratio:.2f}"] for r in found)
    screen.print(
        table("", "float32 µs/step", "bf16 µs/step", "ratio", rows=rows, title="bf16 beside float32 on the CPU")
    )


_BENCHES: dict[str, tuple[Callable[[list[str], int], list[Any]], Callable[[Console, list[Any]], None]]] = {
    "train": (lambda cases, rounds: bench_train(cases, rounds, _tell), _show_training),
    "start": (lambda cases, rounds: bench_start(rounds, _tell), _show_start),
    "compile": (lambda cases, rounds: bench_compile(cases, rounds, _tell), _show_compiling),
    "precision": (lambda cases, rounds: bench_precision(cases, rounds, _tell), _show_precision),
}
