"""`gradlab bench vision`: pictures in training beside the usual loop, with each augmentation, and by recipes."""

import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console

from gradlab.bench.vision.recipes import RECIPES, VisionLearned, bench_recipe, check_seeds, chosen
from gradlab.bench.vision.speed import VisionTrained, bench_vision
from gradlab.cli.benchmarks.output import OUTPUT, Device, Output, figure, progress, show_machine
from gradlab.cli.output import table
from gradlab.recipes import book, find
from gradlab.wording import count, counted, duration


def vision(
    *recipes: str,
    device: Device = "cpu",
    model: str | None = None,
    rounds: int | None = None,
    data: Path | None = None,
    seeds: int = 1,
    output: Output = OUTPUT,
) -> None:
    """How fast a network of pictures trains, what each augmentation costs, and what recipes reach.

    The same network trains on generated pictures of 32×32 pixels with random flips and crops: by gradlab, which draws
    them on the device, and by the usual loop, whose DataLoader changes one picture at a time (by torchvision where it
    is installed, else by PIL), with workers and, on a CPU, without. Then by gradlab with each augmentation
    beside none. The times are of steps at full speed, as ratios in one run; trainings of other work are not compared.

    Example: `gradlab bench vision --device cuda`

    Last, recipes are trained by the command itself, for the accuracy on their test split and for the time it takes:
    digits-cnn, and those whose data are in a folder. Recipes that are named are all that is measured.

    Example: `gradlab bench vision cifar10-fast --data FOLDER --seeds 5 --device cuda`

    Parameters
    ----------
    recipes
        Which: digits-cnn, mnist-lenet, mnist-resnet20, fashion-mnist-resnet20, cifar10-fast, cifar10-resnet18.
    model
        The network whose steps are timed; default cifar-cnn, and resnet20 on a GPU.
    rounds
        How often every training is timed; ratios are medians over rounds. Default 5, and 3 on a GPU.
    data
        A folder with the files of MNIST or CIFAR-10; those of Fashion-MNIST are taken where its recipe is named.
    seeds
        How often each recipe is trained.
    """
    check_seeds(seeds)
    data_of = {name: find(name).data.name for name in RECIPES if name in book}
    trained = chosen(recipes, data_of, data)

    def results() -> Iterator[VisionTrained | VisionLearned]:
        if not recipes:
            yield from bench_vision(progress, device=device, model=model, rounds=rounds)
        for name in trained:
            yield bench_recipe(name, data_of[name], seeds, data, device, progress)

    output.show(results(), show_vision)


def show_vision(screen: Console, results: Iterable[VisionTrained | VisionLearned]) -> None:
    """Each table at once; recipes, which may take long, line by line."""
    for one in results:
        if isinstance(one, VisionTrained):
            _show_trained(screen, one)
        else:
            screen.print(_learned(one))


def _show_trained(screen: Console, one: VisionTrained) -> None:
    rows = (
        [
            r.title,
            f"{r.ratio:.2f}",
            f"{r.cpu:.2f}",
            f"{r.milliseconds:,.2f}",
            f"{r.pictures_per_second:,.0f}",
            figure(r.gibibytes or None, ".1f"),
            f"{r.before:.1f}",
            ", ".join(f"{loss:.3f}" for loss in r.losses),
        ]
        for r in one.rows
    )
    columns = ("", "wall", "CPU", "ms a step", "pictures/s", "GiB", "s before full speed", "loss of each half")
    screen.print(table(*columns, rows=rows, title=f"{one.title}: ratio to {one.reference}"))
    screen.print(
        f"Medians over {counted(one.rounds, 'round')}; CPU is that of the process, without workers of a loader."
    )
    show_machine(screen, one)


def _learned(one: VisionLearned) -> str:
    spread = "" if one.spread is None else f" ± {one.spread:.2%}"
    over = f"over {counted(len(one.accuracy), 'seed')}"
    mean, seconds, whole = map(statistics.mean, (one.accuracy, one.seconds, one.whole))
    return (
        f"{one.recipe}, {count(one.parameters)} parameters: test accuracy {mean:.2%}{spread} {over}; "
        f"{duration(seconds)} of training, {duration(whole)} from the command to the report."
    )
