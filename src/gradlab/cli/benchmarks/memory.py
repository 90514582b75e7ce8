"""`gradlab bench memory`: how long networks remember."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gradlab.bench.memory import DELAYS, STEPS, TASKS, MemorySpans, bench_memory, check_memory_tasks
from gradlab.cli.benchmarks.output import OUTPUT, Output, make_folder, progress, save_length_pictures
from gradlab.cli.output import table
from gradlab.recipes import find
from gradlab.wording import count, counted, duration, name_of, percent


def memory(
    *tasks: str,
    delays: Annotated[Sequence[int], Parameter(consume_multiple=True)] = DELAYS,
    steps: int = STEPS,
    out: Path | None = None,
    output: Output = OUTPUT,
) -> None:
    """How long an RNN, an LSTM, a GRU and a transformer remember, after the same few steps of training.

    Each is trained anew at each delay: to say which symbol came first, before as many fillers; to copy three symbols
    after as many fillers, with one vector between encoder and decoder (the transformer looks at all of its source); and
    to add two marked numbers of a series. The memory span is the longest delay up to which the figure on the test split
    is at least 0.9. With more steps spans grow: it is what a small budget gives.

    Example: `gradlab bench memory recall --delays 10 100 --steps 1000 --out pictures`

    Parameters
    ----------
    tasks
        Which: recall, copy, adding; default all.
    delays
        Steps between what is to be remembered and the end; default 5, 10, 20, 50, 100 and 200.
    steps
        Updates of each training.
    out
        A folder for pictures (SVG) of the figure against the delay.
    """
    check_memory_tasks(tasks, delays, steps)
    make_folder(out)
    spans = (bench_memory(name, find(TASKS[name].recipe), progress, delays, steps) for name in tasks or TASKS)
    output.show(save_length_pictures(spans, out), show_memory)


def show_memory(screen: Console, results: Iterable[MemorySpans]) -> None:
    """Each table at once."""
    for one in results:
        rows = [[f"{delay}", *(percent(row.figures[i]) for row in one.rows)] for i, delay in enumerate(one.delays)]
        rows += [
            ["memory span", *("none" if row.span is None else f"{row.span}" for row in one.rows)],
            ["parameters", *(count(row.parameters) for row in one.rows)],
            ["training", *(duration(row.seconds) for row in one.rows)],
        ]
        steps = f"{counted(one.steps, 'step')} of {one.batch} examples"
        title = f"{one.title}: {name_of(one.figure)} on the test split, {steps}"
        screen.print(table("delay", *(row.title for row in one.rows), rows=rows, title=title))
        screen.print(f"The memory span is the longest delay up to which it is at least {one.solved:g}.")
