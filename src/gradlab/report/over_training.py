"""The same samples at moments of a training: one row of pictures for each, or one frame of points in the plane."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gradlab import specs
from gradlab.markup import Html, table, tag
from gradlab.report.drawn import grid, shades
from gradlab.report.pictures import Array, address, finite, is_picture
from gradlab.run.sample_files import read_samples
from gradlab.run.samples import Drawn, in_raw_units
from gradlab.wording import counted

if TYPE_CHECKING:
    from gradlab.run import Run

_REAL = 256  # training examples behind the points of each moment
_MARGIN = 0.2  # around them, as a share of what they span
_SIDE = 200  # of a frame


def over_training(run: "Run") -> Iterator[Html]:
    """A figure, if the run drew at several moments, and what can be shown."""
    spec = run.preprocessing.spec
    shape = list(spec.shape) if isinstance(spec, specs.Array) else []
    if not (is_picture(shape) or shape == [2]):
        return
    drawn = read_samples(run.path / "samples", shape, len(run.targets.classes or []))
    if len(drawn) < 2:
        return
    content = _rows(run, drawn) if is_picture(shape) else _frames_of(run, drawn)
    yield tag("figure", tag("h3", "Samples over training"), content, tag("figcaption", _words(run, drawn, shape)))


def _words(run: "Run", drawn: dict[int, Drawn], shape: list[int]) -> str:
    first = next(iter(drawn.values()))
    average = "averaged weights" if run.recipe.train.get("ema") else "weights"
    words = f"{counted(len(first.x), 'sample')} of the same random numbers, with the {average} after so many steps"
    if not is_picture(shape):
        return f"{words}; pale are training examples."
    if first.y is None:
        return f"{words}."
    names = run.targets.classes or []
    return f"{words}. From left to right: {', '.join(names[label] for label in first.y)}."


def _rows(run: "Run", drawn: dict[int, Drawn]) -> Html:
    """Where it is not known what white is, each row spans black to white by itself: first ones may be far off."""
    rows = []
    for step, moment in drawn.items():
        pixels = grid(shades(run, finite(moment.x)), len(moment.x))
        rows.append((f"{step:,}", tag("img", src=address(pixels), alt=f"samples after {step:,} steps")))
    return table(["step", ""], rows, class_="moments")


def _frames_of(run: "Run", drawn: dict[int, Drawn]) -> Html:
    moments = drawn.items()
    return frames(run, [(f"step {n:,}", f"samples after {n:,} steps", moment.x) for n, moment in moments])


def frames(run: "Run", moments: Iterable[tuple[str, str, Array]]) -> Html:
    """Points at some moments, each with a label and a title, before pale training examples.

    All show the same part of the plane; points that lie outside of it are not seen.
    """
    real = in_raw_units(run.preprocessing, run.dataset.train.sample(_REAL).inputs[:])
    low, span = real.min(0), np.maximum(real.max(0) - real.min(0), 1e-9)

    def cloud(points: Array) -> Html:
        """As one path, of lines without length, whose ends are round."""
        share = ((points - low) / span + _MARGIN) / (1 + 2 * _MARGIN)
        inside = share[((share >= 0) & (share <= 1)).all(1)]
        return tag("path", d="".join(f"M{_SIDE * x:.1f} {_SIDE * (1 - y):.1f}h0" for x, y in inside.tolist()))

    behind, box = cloud(real), {"viewBox": f"0 0 {_SIDE} {_SIDE}", "role": "img", "class_": "points"}
    shown = [
        tag("div", tag("svg", tag("title", title), behind, cloud(points), **box), label)
        for label, title, points in moments
    ]
    return tag("div", *shown, class_="frames")
