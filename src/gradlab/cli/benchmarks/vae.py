"""`gradlab bench vae`: a variational autoencoder in training beside the usual loop."""

from collections.abc import Iterable

from rich.console import Console

from gradlab.bench.vae.speed import ROUNDS, VAETrained, bench_vae
from gradlab.cli.benchmarks.output import OUTPUT, Output, Rounds, progress, show_machine
from gradlab.cli.output import table
from gradlab.wording import count, counted


def vae(*, rounds: Rounds = ROUNDS, output: Output = OUTPUT) -> None:
    """How fast a variational autoencoder trains on the CPU, beside the usual loop.

    A network 784-400-20 with black and white pixels is trained on generated pictures in batches of 128: by gradlab, and
    by a DataLoader over a TensorDataset, torch.distributions and Adam, with one thread and with one for each core, from
    the same weights. The times are of steps at full speed, as ratios to the faster of these two; trainings of other
    work are not compared.

    Example: `gradlab bench vae --rounds 9`
    """
    output.show((one for one in [bench_vae(progress, rounds=rounds)]), show_vae)


def show_vae(screen: Console, results: Iterable[VAETrained]) -> None:
    for one in results:
        rows = (
            [
                row.title,
                f"{row.ratio:.2f}",
                f"{row.cpu:.2f}",
                f"{row.milliseconds:,.2f}",
                f"{row.pictures_per_second:,.0f}",
                ", ".join(f"{loss:.2f}" for loss in row.losses),
            ]
            for row in one.rows
        )
        columns = ("", "wall", "CPU", "ms a step", "pictures/s", "loss of each half")
        title = f"A variational autoencoder of {count(one.parameters)} parameters: ratio to {one.reference}"
        screen.print(table(*columns, rows=rows, title=title))
        screen.print(f"{one.title}. Medians over {counted(one.rounds, 'round')}.")
        show_machine(screen, one)
