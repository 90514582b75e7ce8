"""Results as a notebook shows them below a cell: small HTML that needs no script, no network and no theme."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

from gradlab.errors import GradlabError
from gradlab.markup import Html, join, table, tag
from gradlab.wording import is_wide, number, quantity

TRAIN, VALIDATION = "#d0803a", "#4f8fd6"  # legible on white and on black
COLORS = (VALIDATION, TRAIN, "#3f9a6d", "#b6607f", "#8a80c9", "#999999")
_WIDTH, _HEIGHT = 340, 130
_LEFT, _BELOW, _MARGIN = 52, 18, 6  # room for the labels of the axes
_MOST_POINTS = 300  # of a curve: more are not distinguished at this width
_MOST_ROWS = 20  # of a table
_BAR = 160  # pixels of the longest bar

Points = tuple[Sequence[float], Sequence[float]]
"""The x and the y of a curve."""


class InlineResult(ABC):
    """A result that is one line as text, and a table or a chart in a notebook. A dataclass needs `repr=False` for it.

    Of files that are damaged or gone, the line has the name alone, and a notebook shows that line.
    """

    @property
    def _name(self) -> str:
        """Where it is, or what it is of."""
        return ""

    @abstractmethod
    def _facts(self) -> list[str]:
        """What the line states; empty ones are left out."""

    def _content(self) -> Iterable[str]:
        """What a notebook shows below the line."""
        return ()

    def __repr__(self) -> str:
        try:
            facts = [self._name, *self._facts()]
        except (GradlabError, OSError):
            facts = [self._name]
        return f"{type(self).__name__}({', '.join(filter(None, facts))})"

    def _repr_html_(self) -> str | None:
        try:
            title, lead = f"{type(self).__name__} {self._name}", " · ".join(filter(None, self._facts()))
            return inline(title.strip(), lead, *self._content())
        except (GradlabError, OSError):
            return None


def notebook_display() -> Callable[..., Any] | None:
    """IPython's `display`, where a kernel sends it to a notebook; a terminal cannot show HTML."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    shown: Callable[..., Any] = display
    return shown


def inline(title: str, lead: str = "", *content: str) -> Html:
    """The output of a cell: a title, a line below it, and whatever follows."""
    head = [tag("b", title, class_="name"), tag("div", lead, class_="soft") if lead else ""]
    return tag("div", tag("style", Html(_style())), *head, *content, class_="gradlab")


@cache
def _style() -> str:
    return Path(__file__).with_name("inline.css").read_text("utf-8")


def figures_table(columns: Mapping[str, Mapping[str, Any]]) -> Html:
    """A row for each figure and a column for each split or method; nothing where there are no figures."""
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    rows = [[name, *(number(figures.get(name)) for figures in columns.values())] for name in names]
    return table(["", *columns], rows, class_="numbers") if rows else Html()


def first_rows(head: Sequence[str], rows: Sequence[Sequence[str]], class_: str = "numbers") -> Html:
    """A table of the first rows, with a line on how many more there are."""
    more = len(rows) - _MOST_ROWS
    rest = tag("div", f"… and {more:,} more", class_="soft") if more > 0 else ""
    return join([table(head, rows[:_MOST_ROWS], class_=class_), rest])


def bar_rows(head: Sequence[str], values: Mapping[str, float], details: Mapping[str, str] | None = None) -> Html:
    """A table of numbers by name, each with a bar as long as it is large; negative ones have none."""
    largest = max((value for value in values.values() if math.isfinite(value)), default=0.0)
    shown = {name: number(value) for name, value in values.items()} | dict(details or {})
    rows = [[name, shown[name], _bar(value, largest)] for name, value in values.items()]
    return first_rows([*head, ""], rows, class_="")


def _bar(value: float, largest: float) -> Html:
    share = value / largest if largest > 0 and value > 0 and math.isfinite(value) else 0.0
    return tag("span", class_="bar", style=f"width: {_BAR * share:.0f}px")


def charts(*figures: str) -> Html:
    """Small charts next to each other; nothing where there is none."""
    shown = [figure for figure in figures if figure]
    return tag("div", *shown, class_="charts") if shown else Html()


def line_chart(title: str, curves: Mapping[str, Points], x: str = "step", colors: Sequence[str] = COLORS) -> Html:
    """Curves over the same axes, of several with a legend; nothing where no curve has two finite points."""
    colored = dict(zip(curves, cycle(colors), strict=False))
    drawable = {name: shown for name, points in curves.items() if len((shown := _drawable(points))[0]) > 1}
    if not drawable:
        return Html()
    xs, ys = ([value for points in drawable.values() for value in points[axis]] for axis in (0, 1))
    height, words = (math.log, ", logarithmic") if is_wide(ys) else (float, "")
    frame = _Frame(xs, [height(y) for y in ys])
    paths = [frame.path(xs, map(height, ys), colored[name]) for name, (xs, ys) in drawable.items()]
    labels = frame.labels(number(min(ys)), number(max(ys)), quantity(min(xs)), f"{x} {quantity(max(xs))}")
    size = {"width": str(_WIDTH), "height": str(_HEIGHT), "viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "role": "img"}
    legend = [_legend_entry(name, ys[-1], colored[name]) for name, (_, ys) in drawable.items()]
    head = [tag("div", title + words, class_="soft"), tag("svg", *labels, *paths, **size)]
    return tag("div", *head, *([tag("div", *legend)] if len(legend) > 1 else []))


def _drawable(points: Points) -> Points:
    """The finite points, or as many of them as can be distinguished, with the last among them."""
    finite = [(x, y) for x, y in zip(*points, strict=True) if math.isfinite(x) and math.isfinite(y)]
    stride = max(1, math.ceil(len(finite) / _MOST_POINTS))
    shown = finite[(len(finite) - 1) % stride :: stride] if finite else []
    return [x for x, _ in shown], [y for _, y in shown]


def _legend_entry(name: str, last: float, color: str) -> Html:
    return join([tag("span", "●", style=f"color: {color}"), f" {name} {number(last)} "])


class _Frame:
    """The axes of a small chart: where a value lies in it."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float]):
        self.low_x, self.span_x = min(xs), (max(xs) - min(xs)) or 1.0
        self.low_y, self.span_y = min(ys), (max(ys) - min(ys)) or 1.0

    def path(self, xs: Iterable[float], ys: Iterable[float], color: str) -> Html:
        width, height = _WIDTH - _LEFT - _MARGIN, _HEIGHT - _BELOW - 2 * _MARGIN
        places = [
            f"{_LEFT + width * (x - self.low_x) / self.span_x:.1f} "
            f"{_MARGIN + height * (1 - (y - self.low_y) / self.span_y):.1f}"
            for x, y in zip(xs, ys, strict=True)
        ]
        return tag("path", d=f"M{'L'.join(places)}", fill="none", stroke=color, **{"stroke-width": "1.8"})

    def labels(self, low: str, high: str, first: str, last: str) -> list[Html]:
        """Two lines for the axes, and the ends of both in numbers."""
        bottom, right = _HEIGHT - _BELOW, _WIDTH - _MARGIN
        axes = tag("path", d=f"M{_LEFT} {_MARGIN}V{bottom}H{right}", fill="none", stroke="#888888", opacity="0.5")
        texts = [
            (_LEFT - 6, _MARGIN + 8, "end", high),
            (_LEFT - 6, bottom, "end", low),
            (_LEFT, _HEIGHT - 4, "start", first),
            (right, _HEIGHT - 4, "end", last),
        ]
        return [axes, *(_text(*place) for place in texts)]


def _text(x: float, y: float, anchor: str, text: str) -> Html:
    place = {"x": str(x), "y": str(y), "text-anchor": anchor, "font-size": "11"}
    return tag("text", text, fill="currentColor", opacity="0.68", **place)
