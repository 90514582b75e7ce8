"""`gradlab bench seq2seq`: models of pairs by the length of the source, and in training beside the usual loop."""

from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import Console

from gradlab.bench.seq2seq.lengths import ByLength, bench_lengths, check_steps
from gradlab.bench.seq2seq.speed import PAIRS, ROUNDS, PairsTrained, bench_speed
from gradlab.cli.benchmarks.output import (
    OUTPUT,
    Output,
    Rounds,
    make_folder,
    progress,
    save_length_pictures,
    show_machine,
)
from gradlab.cli.output import table
from gradlab.errors import unknown
from gradlab.recipes import find
from gradlab.wording import count, counted, duration, percent

_PARTS = ("dates", "copy", "speed")
_COPIED = {"data.longest": 40, "data.examples": 20_000}


def seq2seq(
    *parts: str,
    steps: int = 1200,
    rounds: Rounds = ROUNDS,
    pairs: int = PAIRS,
    threads: int | None = None,
    data: Path | None = None,
    out: Path | None = None,
    output: Output = OUTPUT,
) -> None:
    """With and without attention by the length of the source, and how fast a transformer of pairs trains.

    On dates in words, and on random symbols that are to be copied, four models are trained for as many steps: GRUs with
    one vector of the whole source, with the attention of Luong and of Bahdanau, and a transformer. The share of targets
    that are written exactly is reported by the tokens of the source.

    Then the transformer of the recipe translate is trained on generated pairs with lengths like those of Multi30k (8 to
    40 words, mostly 15), or on a file of one's own: by gradlab, and by the usual loop of torch.nn.Transformer, a
    DataLoader that pads each batch, Adam and clipping, from as many weights on the same pairs with as many threads. One
    epoch warms up, the next is timed, in turns; trainings of other work are not compared.

    Example: `gradlab bench seq2seq speed --data PAIRS.tsv --rounds 5`

    Example: `gradlab bench seq2seq copy --steps 3000 --out pictures`

    Parameters
    ----------
    parts
        Which: dates, copy, speed; default all.
    steps
        Updates of each model on dates and copies.
    pairs
        How many are generated, or read at most, to time an epoch.
    threads
        Of the CPU, for both loops; default one for each core.
    data
        A file with a pair on each line, a tab between source and target.
    out
        A folder for pictures (SVG) of the exact match against the length of the source.
    """
    for part in parts:
        if part not in _PARTS:
            raise unknown("part of this benchmark", part, _PARTS)
    check_steps(steps)
    make_folder(out)
    transformer = find("dates-transformer")
    wanted: dict[str, Callable[[], ByLength | PairsTrained]] = {
        "dates": lambda: bench_lengths("dates to ISO form", find("dates-seq2seq"), transformer, steps, progress),
        "copy": lambda: bench_lengths(
            "copying 2 to 40 symbols", find("copy-seq2seq"), transformer, steps, progress, _COPIED
        ),
        "speed": lambda: bench_speed(
            find("translate"), progress, rounds=rounds, pairs=pairs, threads=threads, data=data
        ),
    }
    output.show(save_length_pictures((wanted[part]() for part in parts or _PARTS), out), show_seq2seq)


def show_seq2seq(screen: Console, results: Iterable[ByLength | PairsTrained]) -> None:
    """Each table at once."""
    for one in results:
        if isinstance(one, ByLength):
            _show_lengths(screen, one)
        else:
            _show_speed(screen, one)


def _show_lengths(screen: Console, one: ByLength) -> None:
    rows = (
        [
            f"{low}" if low == high else f"{low} to {high}",
            f"{pairs:,}",
            *(percent(row.by_length[i]) for row in one.rows),
        ]
        for i, ((low, high), pairs) in enumerate(zip(one.lengths, one.pairs, strict=True))
    )
    below = [
        ["all", f"{sum(one.pairs):,}", *(percent(row.exact_match) for row in one.rows)],
        ["parameters", "", *(count(row.parameters) for row in one.rows)],
        ["training", "", *(duration(row.seconds) for row in one.rows)],
    ]
    title = f"Exact match on unseen pairs by tokens of the source: {one.title}, {counted(one.steps, 'step')}"
    columns = ("tokens", "pairs", *(row.title for row in one.rows))
    screen.print(table(*columns, rows=[*rows, *below], title=title))


def _show_speed(screen: Console, one: PairsTrained) -> None:
    rows = (
        [
            row.title,
            f"{row.ratio:.2f}",
            f"{row.cpu:.2f}",
            f"{row.seconds:,.2f}",
            percent(row.padding),
            ", ".join(f"{loss:.3f}" for loss in row.losses),
        ]
        for row in one.rows
    )
    columns = ("", "wall", "CPU", "s an epoch", "padding", "loss of each epoch")
    title = f"A transformer of {count(one.parameters)} parameters: ratio to {one.reference}"
    screen.print(table(*columns, rows=rows, title=title))
    screen.print(f"{one.title}. Medians over {counted(one.rounds, 'round')}.")
    show_machine(screen, one)
