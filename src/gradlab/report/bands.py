"""Several curves of one figure in one chart: each of them thin, their mean, and a band of one standard deviation."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html
from gradlab.report.charts import Trace, axis, chart, label, line, ribbon, scale, thinned
from gradlab.wording import counted

Numbers = npt.NDArray[np.float64]

_MOST_POINTS = 20_000  # of all single curves of a chart together: more make the page heavy
_FEWEST_POINTS = 50  # of each of them all the same
_FAR = 5  # times the lowest loss: a band is a small part of a loss, and is lost sooner than the curve itself


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One figure of one training, at the steps where it was taken, in their order. Every value is finite."""

    name: str
    steps: list[float]
    values: list[float]

    @classmethod
    def of(cls, name: str, log: Iterable[Mapping[str, Any]], split: str, figure: str) -> "Curve":
        """A figure of a metrics log, where it is defined. That of the untrained model would dwarf the rest."""
        trained = [line for line in log if line["split"] == split and line["step"] > 0]
        lines = [line for line in trained if math.isfinite(line.get(figure, math.nan))]
        return cls(name=name, steps=[line["step"] for line in lines], values=[line[figure] for line in lines])


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """Mean and sample standard deviation of several curves at each step that two of them or more have reached."""

    steps: Numbers
    mean: Numbers
    std: Numbers
    count: npt.NDArray[np.int64]
    """How many curves these are of."""

    @classmethod
    def of(cls, curves: Sequence[Curve]) -> "Band":
        """At every step that some curve has. Where another has none, it is read on the line between its neighbours;
        before its first step and after its last it has no value, and is not counted.

        >>> long = Curve(name="long", steps=[0, 2, 3], values=[1, 3, 9])
        >>> Band.of([long, Curve(name="short", steps=[0, 1], values=[5, 6])])
        Band(steps=array([0., 1.]), mean=array([3., 4.]), std=array([2.82842712, 2.82842712]), count=array([2, 2]))
        """
        steps = np.array(thinned(sorted({step for curve in curves for step in curve.steps})), dtype=np.float64)
        read = [np.interp(steps, c.steps, c.values, left=np.nan, right=np.nan) for c in curves if c.steps]
        values = np.array(read).reshape(len(read), len(steps))
        count = np.isfinite(values).sum(0)
        shared = count >= 2  # one curve has no spread
        values = values[:, shared]
        return cls(
            steps=steps[shared],
            mean=np.nanmean(values, 0) if shared.any() else np.empty(0),
            std=np.nanstd(values, 0, ddof=1) if shared.any() else np.empty(0),
            count=count[shared],
        )


def band_chart(title: str, y: str, curves: Sequence[Curve], color: str, noun: str, *, loss: bool = False) -> Html:
    """A chart over the steps of trainings, each of which is called a `noun`. A loss that falls far gets a log axis."""
    values = [value for curve in curves for value in curve.values]
    logarithmic = scale(values, _FAR) if loss else {}
    traces = band_traces(curves, color, noun, lowest=min(values) if logarithmic else -np.inf)
    return chart(title, traces, xaxis=axis("step", rangemode="tozero"), yaxis=axis(y, **logarithmic))


def band_traces(curves: Sequence[Curve], color: str, noun: str, lowest: float = -np.inf) -> list[Trace]:
    """The band, the single curves and their mean, from back to front.

    A log axis has no place for what is not positive: there the band is cut at the `lowest` value that is drawn.
    """
    band = Band.of(curves)
    single = _singles(curves, color, noun, alone=not len(band.steps))
    return [outline(band, color, lowest), single, _mean(band, color, noun)] if len(band.steps) else [single]


def outline(band: Band, color: str, lowest: float = -np.inf) -> Trace:
    """One standard deviation to either side of the mean."""
    upper, lower = band.mean + band.std, np.maximum(band.mean - band.std, lowest)
    return ribbon("± one standard deviation", band.steps.tolist(), lower.tolist(), upper.tolist(), color)


def _singles(curves: Sequence[Curve], color: str, noun: str, alone: bool) -> Trace:
    """All single curves as one trace, with a gap after each, so that the legend has one line for them."""
    most = max(_FEWEST_POINTS, _MOST_POINTS // max(1, len(curves)))
    x: list[float | None] = []
    y: list[float | None] = []
    names: list[str] = []
    for curve in curves:
        points = thinned(list(zip(curve.steps, curve.values, strict=True)), most)
        x += [*(step for step, _ in points), None]
        y += [*(value for _, value in points), None]
        names += [label(curve.name)] * (len(points) + 1)
    mode = "lines" if any(len(curve.steps) > 1 for curve in curves) else "markers"
    opacity = 1 if alone else min(0.45, max(0.22, 5 / len(curves)))  # many would hide the band
    hover, width = "%{text}, step %{x:,}: %{y:.4~g}<extra></extra>", 2 if alone else 1
    return line(f"single {noun}s", x, y, color, hover, width, text=names, mode=mode, opacity=opacity)


def _mean(band: Band, color: str, noun: str) -> Trace:
    texts = [f"± {std:.2g}, {counted(count, noun)}" for std, count in zip(band.std, band.count.tolist(), strict=True)]
    hover, marker = "mean, step %{x:,}: %{y:.4~g} %{text}<extra></extra>", {"color": color, "size": 9}
    return line("mean", band.steps.tolist(), band.mean.tolist(), color, hover, 2.5, text=texts, marker=marker)
