"""`gradlab bench diffusion`: samples beside a pipeline of diffusers, and how good they are by sampler and steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from gradlab.bench.diffusion.speed import ROUNDS, DiffusionDrawn, bench_diffusion
from gradlab.cli.benchmarks.output import OUTPUT, Device, Output, Rounds, figure, progress, show_machine
from gradlab.cli.output import table
from gradlab.cli.training import CodeFiles, MovedData
from gradlab.errors import GradlabError
from gradlab.wording import count, counted, duration

if TYPE_CHECKING:
    from gradlab.bench.diffusion.quality import DiffusionQuality


def diffusion(
    run: str | None = None,
    /,
    *,
    classifier: str | None = None,
    samples: int | None = None,
    device: Device = "cpu",
    rounds: Rounds = ROUNDS,
    data: MovedData = None,
    code: CodeFiles = None,
    output: Output = OUTPUT,
) -> None:
    """How fast a diffusion network draws, beside diffusers, and how good the samples of a run are.

    A U-Net of pictures of 28×28 pixels, with random weights, draws by DPM-Solver++(2M) for given classes, without
    guidance and with: by gradlab as `gradlab generate` does, and by a pipeline of diffusers with its own scheduler; on
    a GPU in bf16 too. Times are of calls after a first one, as ratios to the fastest pipeline; samples that are not the
    same up to rounding are not compared. On a GPU the network is that of mnist-diffusion, with 50 steps of 64 samples.

    Example: `gradlab bench diffusion --device cuda`

    Then the samples of a run are judged by the run's own features, as its training was at its end: by DDPM with all
    steps of the noise, which take long, by DDIM, and by DPM-Solver++ with ever fewer steps; beside them real examples.

    Example: `gradlab bench diffusion runs/digits-diffusion-3f2a --classifier runs/digits-cnn-3f2a`

    Parameters
    ----------
    run
        A finished diffusion run.
    classifier
        A run that has learned the same classes: how many samples it takes for what was asked for.
    samples
        Of each of ten draws; default as many as there are test examples, at most 1,000.
    """
    if run is None and (classifier is not None or samples is not None):
        option = "--samples" if classifier is None else "--classifier"
        raise GradlabError(f"{option} is of a run whose samples are judged: name it, gradlab bench diffusion RUN.")
    quality = None
    if run is not None:
        from gradlab.api import load_run
        from gradlab.bench.diffusion.quality import SampleQuality

        judge = None if classifier is None else load_run(classifier, code=code)
        quality = SampleQuality(load_run(run, code=code, data=data), judge, samples)

    def results() -> Iterator[DiffusionDrawn | DiffusionQuality]:
        yield from bench_diffusion(progress, device=device, rounds=rounds)
        if quality is not None:
            yield quality.measure(progress, device)

    output.show(results(), show_diffusion)


def show_diffusion(screen: Console, results: Iterable[DiffusionDrawn | DiffusionQuality]) -> None:
    for one in results:
        if isinstance(one, DiffusionDrawn):
            _show_drawn(screen, one)
        else:
            _show_quality(screen, one)


def _show_drawn(screen: Console, one: DiffusionDrawn) -> None:
    rows = (
        [r.title, f"{r.ratio:.2f}", f"{r.milliseconds:,.2f}", f"{r.samples_per_second:,.0f}", f"{r.difference:.1g}"]
        for r in one.rows
    )
    columns = ("", "wall", "ms a step", "samples/s", "difference")
    screen.print(table(*columns, rows=rows, title=f"{one.title}, guidance {one.guidance:g}: ratio to {one.reference}"))
    screen.print(
        f"A U-Net of {count(one.parameters)} parameters. Medians over {counted(one.rounds, 'round')}; difference: the "
        "largest from gradlab's samples, as a share of the largest number in them."
    )
    show_machine(screen, one)


def _show_quality(screen: Console, one: DiffusionQuality) -> None:
    rows = (
        [
            row.title,
            f"{row.frechet:.3f} ± {row.frechet_se:.3f}",
            *(figure(share, ".3f") for share in (row.precision, row.recall)),
            figure(row.recognised, ".2%"),
            "–" if row.seconds is None else duration(row.seconds),
        ]
        for row in one.rows
    )
    columns = ("", "Fréchet distance", "precision", "recall", "recognised", "to draw all")
    screen.print(table(*columns, rows=rows, title=f"Samples of {one.run}, guidance {one.guidance:g}"))
    by = "" if one.classifier is None else f"; recognised by {one.classifier}"
    screen.print(
        f"{counted(one.draws, 'draw')} of {counted(one.samples, 'sample')} beside as many test examples: mean and "
        f"standard error. Features are {one.features} ({one.dimension} numbers). Real examples are test examples "
        f"beside training examples{by}.",
        markup=False,
    )
    show_machine(screen, one)
    verdict = "no worse, up to" if one.no_worse else "worse, by more than"
    screen.print(f"{one.fast}, beside {one.slow}: {verdict} two standard errors.")
