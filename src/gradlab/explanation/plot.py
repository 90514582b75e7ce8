"""Lines over axes as a small picture, which follows the colours of its page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradlab.markup import Html, tag

_WIDTH, _HEIGHT, _LEFT, _BELOW, _AROUND = 440, 290, 42, 28, 12  # pixels
_TICKS = 8  # of an axis, at most
_COLOURS = {"Blue": "var(--accent)", "Orange": "var(--train)"}


@dataclass(frozen=True)
class Plot:
    """At most two lines over the same x, by what they show; what x is; and from where to where y is drawn."""

    x: Sequence[float]
    over: str
    lines: Mapping[str, Sequence[float]]
    ends: tuple[float, float]
    widths: tuple[float, float] = (2.5, 2.5)
    """Pixels of each line; where they lie on one another, the second is seen behind the first if it is wider."""
    jump: float = 0.2
    """Of the height, between neighbouring points: there a function is not continuous, and its line is broken."""

    def figure(self) -> Html:
        named = [f"{colour}: {name}." for colour, name in zip(_COLOURS, self.lines, strict=False)]
        caption = tag("figcaption", " ".join([*named, f"Over {self.over}."]))
        axes = [self._upright(x) for x in ticks(self.x[0], self.x[-1])] + [self._level(y) for y in ticks(*self.ends)]
        drawn = zip(self.lines.values(), _COLOURS.values(), self.widths, strict=False)
        strokes = [self._stroke(y, colour, width) for y, colour, width in drawn]
        box = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "role": "img"}
        return tag("figure", tag("svg", *axes, *reversed(strokes), **box), caption, class_="curve")

    def _across(self, x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _AROUND) * (x - self.x[0]) / (self.x[-1] - self.x[0])

    def _down(self, y: float) -> float:
        low, high = self.ends
        return _AROUND + (_HEIGHT - _BELOW - _AROUND) * (high - y) / (high - low)

    def _stroke(self, values: Sequence[float], colour: str, width: float) -> Html:
        """One stroke, broken where the function jumps and where it leaves the picture."""
        low, high = self.ends
        inside = [low <= y <= high for y in values]
        path, pen = "", "M"
        for i, (x, y) in enumerate(zip(self.x, values, strict=True)):
            if i and abs(y - values[i - 1]) > self.jump * (high - low):
                pen = "M"
            if any(inside[max(0, i - 1) : i + 2]):
                path += f"{pen}{self._across(x):.1f},{self._down(min(max(y, low), high)):.1f}"
                pen = "L"
            else:
                pen = "M"
        pencil = {"stroke": colour, "stroke-width": f"{width:g}", "stroke-linejoin": "round"}
        return tag("path", d=path, fill="none", **pencil)

    def _upright(self, x: float) -> Html:
        at = self._across(x)
        ends = {"x1": at, "x2": at, "y1": _AROUND, "y2": _HEIGHT - _BELOW}
        return _tick(x, ends, at, _HEIGHT - _BELOW + 18, "middle")

    def _level(self, y: float) -> Html:
        at = self._down(y)
        ends = {"x1": _LEFT, "x2": _WIDTH - _AROUND, "y1": at, "y2": at}
        return _tick(y, ends, _LEFT - 8, at + 4, "end")


def _tick(value: float, ends: Mapping[str, float], x: float, y: float, anchor: str) -> Html:
    """A line of the grid, that of 0 stronger, and its number."""
    style = {"stroke": "var(--soft)" if value == 0 else "var(--line)"}
    words = {"fill": "var(--soft)", "font-size": "13", "text-anchor": anchor, "x": f"{x:.1f}", "y": f"{y:.1f}"}
    line = tag("line", **style, **{key: f"{place:.1f}" for key, place in ends.items()})
    return tag("g", line, tag("text", f"{value:g}".replace("-", "−"), **words))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from one end to the other: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(-100, 150), ticks(0, 0.9)
    ([-100.0, -50.0, 0.0, 50.0, 100.0, 150.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    decade = 10.0 ** math.floor(math.log10(high - low))
    step = next(s * decade for s in (0.1, 0.2, 0.5, 1, 2, 5) if (high - low) / (s * decade) <= _TICKS)
    first = math.ceil(round(low / step, 9))
    return [round(i * step, 12) for i in range(first, math.floor(round(high / step, 9)) + 1)]
