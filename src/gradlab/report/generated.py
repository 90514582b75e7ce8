"""What a generative model draws, beside what it has seen; and what it makes of examples, if it has a latent space."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.markup import Html, quiet, section, tag
from gradlab.report.charts import ACCENT, PALETTE, SOFT, axis, chart, charts, dots
from gradlab.report.drawn import columns_for, grid, shades
from gradlab.report.over_training import frames, over_training
from gradlab.report.pictures import Pixels, address, is_picture
from gradlab.run.samples import in_raw_units
from gradlab.specs import Array
from gradlab.tasks.evaluation import in_evaluation
from gradlab.tasks.generative import Decodes, Encodes, Reconstructs
from gradlab.wording import counted, number

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.run.samples import Drawing

_SHOWN, _POINTS, _PAIRS = 64, 1000, 12
_WAYS, _STEPS = 5, 12
_ROWS, _STAGES = 5, 12
_FRAMES = 8  # of points
_SEARCHED = 20_000  # training examples among which the nearest is looked for
_ENCODED = 2000
_ENLARGED = 1.5  # times as large as the pixels of a grid, at most


def samples_section(run: "Run") -> Html:
    """Samples, their nearest training examples, earlier ones, ways between noises and from it; the latent space."""
    with run.drawing() as drawing, run.drawing(pixel_noise=drawing.task.has_pixel_noise) as noisy:
        figures = [*_samples(run, drawing, noisy), *over_training(run)]
        figures += [*_or_none(_ways, run, drawing), *_or_none(_stages, run, drawing)]
    return section(
        "Samples", quiet("Drawn with seed 0; gradlab generate draws others."), charts(*figures, *_latent(run))
    )


def reconstructions_section(run: "Run") -> Html:
    """Of a model that draws nothing: what it makes of examples, and where they lie in its latent space."""
    figures = list(_latent(run))
    return section("Reconstructions", charts(*figures)) if figures else Html()


def _or_none(draw: Callable[["Run", "Drawing"], Html], run: "Run", drawing: "Drawing") -> list[Html]:
    """A figure that not every kind of model has."""
    try:
        return [draw(run, drawing)]
    except GradlabError:
        return []


def _shape(run: "Run") -> list[int]:
    spec = run.preprocessing.spec
    return list(spec.shape) if isinstance(spec, Array) else []


def _samples(run: "Run", drawing: "Drawing", noisy: "Drawing") -> Iterator[Html]:
    """What is compared with examples has noise in its pixels, as they do."""
    if is_picture(_shape(run)):
        drawn = drawing.whole(_SHOWN)
        yield _figure("Samples", grid(shades(run, drawn.x), columns_for(_SHOWN)), "")
        yield _neighbours(run, noisy)
    elif _shape(run) == [2]:
        yield _scatter(run, noisy)


# Is it memory?


def _neighbours(run: "Run", drawing: "Drawing") -> Html:
    """Samples above the training examples that are nearest to them, and how far that is beside test examples."""
    train = run.dataset.train.sample(_SEARCHED).inputs[:]
    samples = drawing.prepared(_PAIRS).to(train)
    distance, nearest = _nearest(samples, train)
    beside = _nearest(run.dataset.test.sample(_PAIRS * 10).inputs[:], train)[0] if len(run.dataset.test) else None
    words = f"Above samples, below the nearest of {counted(len(train), 'training example')} to each, by their pixels. "
    words += f"The median distance is {number(distance.median().item())}"
    words += "." if beside is None else f", that of test examples {number(beside.median().item())}: "
    words += "" if beside is None else "samples that are much nearer are copies."
    both = torch.cat([samples, train[nearest]])
    return _figure("Samples and their nearest training examples", _rows_of(run, both, _PAIRS), words)


def _nearest(points: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    nearest = torch.cdist(points.flatten(1), among.flatten(1)).min(1)
    return nearest.values, nearest.indices


# Between samples, and from noise.


def _ways(run: "Run", drawing: "Drawing") -> Html:
    x = drawing.ways(_WAYS, _STEPS)
    words = "Each row walks from one noise to another, along the sphere on which noise lies."
    if not is_picture(_shape(run)):
        raise GradlabError("Points are seen better all at once.")
    return _figure("Between two samples", grid(shades(run, x.reshape(-1, *x.shape[2:])), _STEPS), words)


def _stages(run: "Run", drawing: "Drawing") -> Html:
    if not is_picture(_shape(run)):
        x = drawing.stages(_POINTS // 4, _FRAMES)
        ways = [f"{stage / (len(x) - 1):.0%}" for stage in range(len(x))]
        content = frames(run, [(way, f"samples at {way} of their way", one) for way, one in zip(ways, x, strict=True)])
        words = "The same samples at shares of their way; pale are training examples."
        return tag("figure", tag("h3", "From noise to samples"), content, tag("figcaption", words))
    x = np.swapaxes(drawing.stages(_ROWS, _STAGES), 0, 1)
    pixels = grid(shades(run, x.reshape(-1, *x.shape[2:])), x.shape[1])
    return _figure("From noise to samples", pixels, "Each row is one sample on its way, from left to right.")


def _scatter(run: "Run", drawing: "Drawing") -> Html:
    test = run.dataset.test.sample(_POINTS)
    real = in_raw_units(run.preprocessing, test.inputs[:])
    drawn = drawing.whole(max(1, len(test) or _POINTS)).x
    names = run.data["inputs"].get("features") or ("x0", "x1")
    hover = "%{x:.3~g}, %{y:.3~g}"
    traces = [
        dots("test examples", real[:, 0], real[:, 1], SOFT, hover, size=5, opacity=0.5),
        dots("samples", drawn[:, 0], drawn[:, 1], ACCENT, hover, size=5, opacity=0.7),
    ]
    words = f"{counted(len(drawn), 'sample')} over as many examples of the test split."
    return chart("Samples", traces, words, height=480, xaxis=axis(names[0]), yaxis=axis(names[1]))


# The latent space.


def _latent(run: "Run") -> Iterator[Html]:
    """Of models that can say it: originals beside reconstructions, and where examples lie."""
    task = run.task
    test = run.dataset.test
    if not len(test):
        return
    with in_evaluation(run.model):
        if isinstance(task, Reconstructs) and is_picture(_shape(run)):
            some = test.sample(_PAIRS).inputs[:]
            both = torch.cat([some, task.reconstruct(run.model, some)])
            words = "Above examples of the test split, below what the model makes of them."
            yield _figure("Reconstructions", _rows_of(run, both, len(some)), words)
            if isinstance(task, Decodes) and len(some) >= 2 * _WAYS:
                yield _between(run, task, some[: 2 * _WAYS])
        if isinstance(task, Encodes):
            some = test.sample(_ENCODED)
            yield _codes(run, task.encode(run.model, some.inputs[:]).flatten(1).cpu(), some)


def _between(run: "Run", task: Decodes, examples: Tensor) -> Html:
    """What lies between the codes of two examples each: straight ways, since no noise says what codes are like."""
    first, second = task.encode(run.model, examples).chunk(2)
    share = torch.linspace(0, 1, _STEPS).to(first).view(1, -1, *[1] * (first.ndim - 1))
    codes = (first[:, None] * (1 - share) + second[:, None] * share).flatten(0, 1)
    words = "Each row walks straight from the code of one example of the test split to that of another."
    return _figure("Between two examples", _rows_of(run, task.from_codes(run.model, codes), _STEPS), words)


def _codes(run: "Run", codes: Tensor, some: Any) -> Html:
    """Codes in the plane, coloured by class; of more dimensions, the first two principal axes."""
    share = ""
    if codes.shape[1] > 2:
        codes, share = _principal(codes)
    elif codes.shape[1] < 2:
        codes = torch.cat([codes, torch.zeros_like(codes)], 1)
    classes = run.targets.classes or ["examples"]
    labels = some.targets[:].cpu() if run.targets.classes else torch.zeros(len(codes), dtype=torch.long)
    traces = []
    for index, name in enumerate(classes):
        x, y = codes[labels == index].T
        traces.append(dots(name, x, y, _colour(index, len(classes)), size=5, opacity=0.7))
    words = f"{counted(len(codes), 'example')} of the test split where the model puts them{share}."
    return chart("Latent space", traces, words, height=480, xaxis=axis("first"), yaxis=axis("second"))


def _principal(codes: Tensor) -> tuple[Tensor, str]:
    """The first two principal axes, and what they show of the variance, in words."""
    centred = (codes - codes.mean(0)).double()
    _, sizes, axes = torch.linalg.svd(centred, full_matrices=False)
    share = (sizes[:2].square().sum() / sizes.square().sum().clamp(min=1e-12)).item()
    dims = codes.shape[1]
    return centred @ axes[:2].T, f", along the two principal axes of {dims} dimensions, {share:.0%} of the variance"


def _colour(index: int, classes: int) -> str:
    """Of the palette where it has enough of them, else around the circle of colours."""
    if classes <= len(PALETTE):
        return PALETTE[index]
    return f"hsl({360 * index // classes}, 70%, {(35, 58)[index % 2]}%)"  # neighbours differ in brightness too


# Pictures.


def _rows_of(run: "Run", prepared: Tensor, columns: int) -> Pixels:
    """Prepared pictures in a grid."""
    return grid(shades(run, in_raw_units(run.preprocessing, prepared)), columns)


def _figure(title: str, pixels: Pixels, words: str) -> Html:
    most = f"max-width: {_ENLARGED * pixels.shape[1]:.0f}px"  # a square as wide as the page would hide all else
    shown = tag("img", src=address(pixels), alt=title, style=f"width: 100%; {most}; image-rendering: pixelated")
    return tag("figure", tag("h3", title), shown, *([tag("figcaption", words)] if words else []))
