"""Pictures made of characters: boxes of lines that stand beside and above one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from rich.cells import cell_len

Side = Literal["left", "center", "right"]

_GROWN = zip("⎛⎞⎡⎤⎧⎫⎡⎤⎢⎥│║", "⎜⎟⎢⎥⎪⎪⎢⎥⎢⎥│║", "⎝⎠⎣⎦⎩⎭⎢⎥⎣⎦│║", strict=True)  # first line, those between, last line
BRACKETS = dict(zip("()[]{}⌈⌉⌊⌋|‖", _GROWN, strict=True))
_WAISTS = {"{": "⎨", "}": "⎬"}


@dataclass(frozen=True)
class Box:
    """Lines of one width. Boxes side by side meet at their baselines, which are counted from the top."""

    lines: tuple[str, ...] = ("",)
    baseline: int = 0

    @property
    def width(self) -> int:
        return cell_len(self.lines[0])

    @property
    def height(self) -> int:
        return len(self.lines)

    @property
    def depth(self) -> int:
        """Lines below the baseline."""
        return self.height - 1 - self.baseline

    @property
    def is_tall(self) -> bool:
        """Whether it has lines on both sides of its baseline: a fraction has, a letter with one script has not."""
        return self.baseline > 0 and self.depth > 0

    def widened(self, width: int, side: Side) -> "Box":
        room = width - self.width
        before = {"left": 0, "center": room // 2, "right": room}[side]
        return Box(tuple(" " * before + line + " " * (room - before) for line in self.lines), self.baseline)

    def beside(self, other: "Box") -> "Box":
        """
        >>> half = Box(("1", "─", "2"), baseline=1)
        >>> half.beside(Box((" x",))).lines
        ('1  ', '─ x', '2  ')
        """
        rise, fall = max(self.baseline, other.baseline), max(self.depth, other.depth)
        left, right = (
            [" " * box.width] * (rise - box.baseline) + [*box.lines] + [" " * box.width] * (fall - box.depth)
            for box in (self, other)
        )
        return Box(tuple(a + b for a, b in zip(left, right, strict=True)), rise)

    def above(self, other: "Box", side: Side = "center") -> "Box":
        """The baseline stays in this box."""
        width = max(self.width, other.width)
        return Box(self.widened(width, side).lines + other.widened(width, side).lines, self.baseline)

    def below(self, other: "Box", side: Side = "center") -> "Box":
        """The baseline stays in this box."""
        return Box(other.above(self, side).lines, other.height + self.baseline)

    def bracket(self, sign: str) -> "Box":
        """A bracket as tall as this box."""
        if self.height == 1:
            return Box((sign,))
        first, between, last = BRACKETS[sign]
        lines = [first, *between * (self.height - 2), last]
        if sign in _WAISTS and self.height > 2:
            lines[min(max(self.baseline, 1), self.height - 2)] = _WAISTS[sign]
        return Box(tuple(lines), self.baseline)


def blank(width: int) -> Box:
    return Box((" " * width,))


def row(boxes: Sequence[Box]) -> Box:
    return reduce(Box.beside, boxes, Box())


def column(boxes: Sequence[Box]) -> Box:
    """One below the other, with the baseline in the middle."""
    whole = reduce(lambda upper, lower: upper.above(lower, "left"), boxes)
    return Box(whole.lines, (whole.height - 1) // 2)


def table(cells: Sequence[Sequence[Box]], sides: Sequence[Side], gaps: Sequence[int]) -> Box:
    """Cells in rows, with as many blanks before each column as `gaps` says.

    An empty line keeps rows of several lines apart, and two rows at the left, so that a brace before them has a waist.
    """
    widths = [max(cell.width for cell in cells_below) for cells_below in zip(*cells, strict=True)]
    places = list(zip(gaps, widths, sides, strict=True))
    rows = [
        row(
            [
                blank(gap).beside(cell.widened(width, side))
                for cell, (gap, width, side) in zip(line, places, strict=True)
            ]
        )
        for line in cells
    ]
    apart = any(line.height > 1 for line in rows) or (len(rows) == 2 and set(sides) == {"left"})
    return column([part for line in rows for part in ((Box(), line) if apart else (line,))][apart:])
