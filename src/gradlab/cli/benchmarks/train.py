"""`gradlab bench train`: the same training by gradlab, by peers and by another checkout; on a GPU, larger ones."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from gradlab.bench.against import bench_against
from gradlab.bench.arena import Row, Table, bench_train
from gradlab.bench.cases import CASES, TEXT_CASES
from gradlab.bench.contestants import ENTRIES, TEXT_ENTRIES
from gradlab.bench.cuda.training import CudaTrained, bench_train_cuda
from gradlab.cli.benchmarks.output import OUTPUT, Device, Output, progress, show_machine
from gradlab.cli.output import table
from gradlab.errors import GradlabError
from gradlab.wording import counted, number


def train(
    *cases: str,
    device: Device = "cpu",
    against: Path | None = None,
    rounds: int | None = None,
    output: Output = OUTPUT,
) -> None:
    """Train the same with gradlab and its peers, or with another checkout of gradlab.

    Each contestant is a process of its own, and the order is drawn anew in each round. Peers take part where they are
    installed: `pip install "gradlab[bench]"`. Of them, only Lightning learns texts (lstm, gpt).

    Example: `gradlab bench train digits lstm --rounds 15`

    What does a change cost? `git worktree add ../before HEAD~1` makes a checkout of the commit before it, and both are
    measured in the same rounds.

    Example: `gradlab bench train digits mlp lstm gpt --against ../before`

    On a GPU it is GPT-2 of 124 million weights by default settings, in bf16 and fp8, beside Hugging Face's, compiled;
    an LSTM and a GRU beside a loop over their cells; and an MLP through `gradlab.fit` beside the usual loop.

    Example: `gradlab bench train --device cuda`

    Parameters
    ----------
    cases
        Which trainings: digits, mlp, lenet, lstm, gpt; default all. Not on a GPU.
    against
        A folder with another checkout of gradlab, which takes the place of the peers.
    rounds
        How often everything is measured; ratios are medians over rounds. Default 7, and 15 with --against, whose
        ratios are close to 1.
    """
    if device == "cuda":
        if cases or against is not None or rounds is not None:
            raise GradlabError("On a GPU, bench train has no cases, no --against and no --rounds.")
        output.show(bench_train_cuda(progress), show_train_cuda)
        return
    chosen = cases or [*CASES, *TEXT_CASES]
    if against is None:
        output.show(bench_train(chosen, 7 if rounds is None else rounds, progress), show_training)
    else:
        output.show(bench_against(chosen, against, 15 if rounds is None else rounds, progress), show_against)


def show_training(screen: Console, results: Sequence[Table]) -> None:
    titles = {name: entry.title for name, entry in (ENTRIES | TEXT_ENTRIES).items()}
    for one in results:
        rows = ([r.title, f"{r.wall:.2f}", f"{r.cpu:.2f}", *_work(r)] for r in one.rows)
        title = f"{_training(one)}: ratio to the {titles[one.reference]}"
        screen.print(table("", "wall", "CPU", *_WORK, rows=rows, title=title))
        screen.print(f"Medians over {one.rounds} rounds; each contestant is a process of its own.")
        for name, reason in one.absent.items():
            screen.print(f"Not taking part: {titles[name]} ({reason}).")


def show_against(screen: Console, results: Sequence[Table]) -> None:
    for one in results:
        here, there = sorted(one.rows, key=lambda row: row.contestant == one.reference)
        quartiles = "–".join(f"{q:.3f}" for q in here.cpu_quartiles)
        rows = [
            [here.title, f"{here.cpu:.3f}", quartiles, f"{here.wall:.3f}", *_work(here)],
            ["the other", "1", "", "1", *_work(there)],
        ]
        columns = ("", "CPU", "CPU quartiles", "wall", *_WORK)
        screen.print(table(*columns, rows=rows, title=f"{_training(one)}: ratio to {there.title}"))
        screen.print(f"Medians over {counted(one.rounds, 'round')}; {_equal_work(here.loss, there.loss)}")


def _equal_work(here: float, there: float) -> str:
    """Trainings are exact, so even a difference that the table's digits do not show is one."""
    if here == there:
        return "both reached the same loss, to the bit."
    return f"the losses differ by {abs(here - there):.2g}: the two did not compute the same."


def _training(one: Table) -> str:
    return f"{one.title}, batch {one.batch_size}, {one.optimizer}"


_WORK = ("best µs/step", "steps", "final loss")


def _work(row: Row) -> list[str]:
    return [f"{1e6 * row.seconds / row.steps:,.0f}", str(row.steps), number(row.loss)]


def show_train_cuda(screen: Console, results: Iterable[CudaTrained]) -> None:
    for one in results:
        best = one.rows[0].milliseconds
        rows = (
            [
                r.title,
                f"{r.milliseconds:,.3f}",
                f"{r.examples_per_second:,.0f}",
                f"{r.gibibytes:.1f}",
                f"{r.before:.1f}",
                f"{r.milliseconds / best:.2f}",
                ", ".join(f"{loss:.3f}" for loss in r.losses) or "–",
            ]
            for r in one.rows
        )
        sizes = ("ms a step", f"{one.unit}/s", "GiB", "s before full speed")
        columns = ("", *sizes, "gradlab is so many times as fast", "loss of each half")
        screen.print(table(*columns, rows=rows, title=one.title))
        if one.floor is not None:
            screen.print(
                f"If a step were its products of matrices alone, at the speed of a large one: {one.floor:,.1f} ms."
            )
        show_machine(screen, one)
