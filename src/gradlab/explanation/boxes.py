"""Pictures made of characters: boxes of lines that stand beside and above one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Literal, Self

from rich.cells import cell_len

Side = Literal["left", "center", "right"]

# First, middle and last line of a bracket that grows.
FENCES = {
    "": "   ",
    "(": "⎛⎜⎝",
    ")": "⎞⎟⎠",
    "[": "⎡⎢⎣",
    "]": "⎤⎥⎦",
    "{": "⎧⎪⎩",
    "}": "⎫⎪⎭",
    "⌈": "⎡⎢⎢",
    "⌉": "⎤⎥⎥",
    "⌊": "⎢⎢⎣",
    "⌋": "⎥⎥⎦",
    "|": "│││",
    "‖": "║║║",
}
_WAISTS = {"{": "⎨", "}": "⎬"}


@dataclass(frozen=True)
class Box:
    """Lines of one width. Boxes side by side meet at their baselines, which are counted from the top."""

    lines: tuple[str, ...] = ("",)
    baseline: int = 0

    @classmethod
    def of(cls, *lines: str, baseline: int = 0, side: Side = "left") -> Self:
        width = max(map(cell_len, lines))
        return cls(tuple(_padded(line, width, side) for line in lines), baseline)

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

    def beside(self, other: "Box") -> "Box":
        """
        >>> print("\\n".join(Box.of("a", "─", "b", baseline=1).beside(Box.of(" + c")).lines))
        a
        ─ + c
        b
        """
        rise, fall = max(self.baseline, other.baseline), max(self.depth, other.depth)
        left, right = ([""] * (rise - b.baseline) + [*b.lines] + [""] * (fall - b.depth) for b in (self, other))
        return Box(
            tuple(_padded(a, self.width) + _padded(b, other.width) for a, b in zip(left, right, strict=True)), rise
        )

    def above(self, other: "Box", side: Side = "center") -> "Box":
        """The baseline stays where it is in this box."""
        return Box.of(*self.lines, *other.lines, baseline=self.baseline, side=side)

    def below(self, other: "Box", side: Side = "center") -> "Box":
        return Box.of(*other.lines, *self.lines, baseline=other.height + self.baseline, side=side)

    def fence(self, bracket: str) -> "Box":
        """A bracket as tall as this box."""
        if self.height == 1:
            return Box((bracket,))
        first, middle, last = FENCES[bracket]
        lines = [first, *middle * (self.height - 2), last]
        if bracket in _WAISTS and self.height > 2:
            lines[min(max(self.baseline, 1), self.height - 2)] = _WAISTS[bracket]
        return Box.of(*lines, baseline=self.baseline)


def table(rows: Sequence[Sequence[Box]], sides: Sequence[Side], gaps: Sequence[int], spread: bool = False) -> Box:
    """Cells in rows and columns, with as many blanks after each column as `gaps` says; the baseline is in the middle.

    Rows of several lines are kept apart by an empty line; `spread` keeps all rows apart.
    """
    columns = list(zip_longest(*rows, fillvalue=Box()))
    widths = [max(cell.width for cell in column) + gap for column, gap in zip(columns, gaps, strict=True)]
    lines = []
    for row in rows:
        line = Box()
        for cell, side, width in zip(row, sides, widths):
            line = line.beside(
                Box.of(
                    *cell.lines,
                )
            )
    return Box()
