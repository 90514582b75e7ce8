"""Figures by a length, as a picture of its own: on logarithmic axes, where a power is a straight line, or as shares.

The file stands in a text on a light or a dark page and cannot know which: there is no background, and all colours can
be read on both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gradlab.markup import Html, tag
from gradlab.report.charts import PALETTE, log_ticks

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BELOW = 920, 400, 64, 390, 40, 52  # pixels; the legend is at the right
_GREY = "#6e7781"  # 4.5 times as dark as white, 4.2 times as light as a dark page
_ROW = 24  # of the legend


@dataclass(frozen=True, kw_only=True)
class Line:
    """A figure by the length, where it is known, and the exponent that was fitted to it."""

    name: str
    figures: Mapping[int, float | None]
    exponent: float | None = None

    @property
    def points(self) -> list[tuple[int, float]]:
        return [(n, figure) for n, figure in sorted(self.figures.items()) if figure is not None]


def growth_picture(title: str, across: str, lines: Sequence[Line]) -> Html:
    """An SVG file of figures that may be of any size; what is 0 has no place in it."""
    lines = [replace(line, figures={n: figure or None for n, figure in line.figures.items()}) for line in lines]
    figures = [figure for line in lines for _, figure in line.points] or [1.0]
    y = _Scale(min(figures), max(figures), _HEIGHT - _BELOW, _TOP)
    ticks = [tick for tick in log_ticks(figures) if min(figures) <= tick <= max(figures)]
    return _picture(title, across, lines, y, {tick: f"{tick:g}" for tick in ticks})


def share_picture(title: str, across: str, lines: Sequence[Line]) -> Html:
    """An SVG file of shares, from 0 to 1; only the lengths are logarithmic. What is less than 0 is drawn as 0."""

    def y(share: float) -> float:
        return _HEIGHT - _BELOW - max(share, 0.0) * (_HEIGHT - _BELOW - _TOP)

    return _picture(title, across, lines, y, {tick / 4: f"{tick / 4:.0%}" for tick in range(5)})


def _picture(
    title: str, across: str, lines: Sequence[Line], y: Callable[[float], float], ticks: Mapping[float, str]
) -> Html:
    """The legend has the lines in the order of their ends, the highest first."""
    shown = sorted((line for line in lines if line.points), key=lambda line: -line.points[-1][1])
    lengths = sorted({n for line in shown for n, _ in line.points}) or [1]
    colours = {line.name: (PALETTE[i % len(PALETTE)], i >= len(PALETTE)) for i, line in enumerate(lines)}
    x = _Scale(lengths[0], lengths[-1], _LEFT, _WIDTH - _RIGHT)
    return tag(
        "svg",
        tag("title", title),
        _text(_LEFT, 20, title, weight="600"),
        *(_upright(x(n), f"{n:,}") for n in lengths),
        *(_level(y(tick), words) for tick, words in ticks.items()),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, across, anchor="middle"),
        *(_stroke([(x(n), y(f)) for n, f in line.points], *colours[line.name]) for line in shown),
        *(_entry(i, line, *colours[line.name]) for i, line in enumerate(shown)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=str(_WIDTH),
        height=str(_HEIGHT),
        role="img",
        **{"font-family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "font-size": "13"},
    )


@dataclass(frozen=True)
class _Scale:
    """From numbers to pixels, by their logarithms."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (self.end - self.start) * math.log(value / self.low) / math.log(self.high / self.low)


def _stroke(points: Sequence[tuple[float, float]], colour: str, dashed: bool) -> Html:
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    style = {"stroke-width": "2.5", "stroke-linejoin": "round"} | ({"stroke-dasharray": "6 4"} if dashed else {})
    dots = (tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.5", fill=colour) for x, y in points)
    return tag("g", tag("path", d=path, fill="none", stroke=colour, **style), *dots)


def _entry(row: int, line: Line, colour: str, dashed: bool) -> Html:
    left, y = _WIDTH - _RIGHT + 20, _TOP + 8 + _ROW * row
    grows = "" if line.exponent is None else f" ∝ n^{line.exponent:.2f}"
    return tag(
        "g", _stroke([(left, y), (left + 26, y)], colour, dashed), _text(left + 36, y + 4, f"{line.name}{grows}")
    )


def _upright(x: float, words: str) -> Html:
    return tag("g", _line(x, x, _TOP, _HEIGHT - _BELOW), _text(x, _HEIGHT - _BELOW + 18, words, anchor="middle"))


def _level(y: float, words: str) -> Html:
    return tag("g", _line(_LEFT, _WIDTH - _RIGHT, y, y), _text(_LEFT - 8, y + 4, words, anchor="end"))


def _line(x1: float, x2: float, y1: float, y2: float) -> Html:
    ends = {"x1": x1, "x2": x2, "y1": y1, "y2": y2}
    return tag("line", stroke=_GREY, opacity="0.3", **{key: f"{place:.1f}" for key, place in ends.items()})


def _text(x: float, y: float, words: str, anchor: str = "start", weight: str = "400") -> Html:
    style = {"text-anchor": anchor, "font-weight": weight}
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", fill=_GREY, **style)
