"""Pictures made of characters: boxes of lines that stand beside and above one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Literal

from rich.cells import cell_len

Side = Literal["left", "center", "right"]

# A bracket that grows: its first line, those between, its last, and the waist of a brace.
FENCES = {
    "": "   ",
    "(": "⎛⎜⎝",
    ")": "⎞⎟⎠",
    "[": "⎡⎢⎣",
    "]": "⎤⎥⎦",
    "{": "⎧⎪⎩⎨",
    "}": "⎫⎪⎭⎬",
    "⌈": "⎡⎢⎢",
    "⌉": "⎤⎥⎥",
    "⌊": "⎢⎢⎣",
    "⌋": "⎥⎥⎦",
    "|": "│││",
    "‖": "║║║",
}


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

    def widened(self, width: int, side: Side) -> "Box":
        """Blanks around the content, which goes to one side or to the centre."""
        room = max(width - self.width, 0)
        before = {"left": 0, "center": room // 2, "right": room}[side]
        return Box(tuple(" " * before + line + " " * (room - before) for line in self.lines), self.baseline)

    def beside(self, other: "Box") -> "Box":
        """
        >>> half = Box(("1", "─", "2"), baseline=1)
        >>> print(*half.beside(Box((" x",))).lines, sep="|")
        1  |─ x|2
        """
        rise, fall = max(self.baseline, other.baseline), max(self.depth, other.depth)
        sides = (
            (" " * box.width,) * (rise - box.baseline) + box.lines + (" " * box.width,) * (fall - box.depth)
            for box in (self, other)
        )
        return Box(tuple(left + right for left, right in zip(*sides, strict=True)), rise)

    def above(self, other: "Box", side: Side = "center") -> "Box":
        """The baseline stays in this box."""
        width = max(self.width, other.width)
        return Box(self.widened(width, side).lines + other.widened(width, side).lines, self.baseline)

    def below(self, other: "Box", side: Side = "center") -> "Box":
        """The baseline stays in this box."""
        return Box(other.above(self, side).lines, other.height + self.baseline)

    def fence(self, bracket: str) -> "Box":
        """A bracket as tall as this box."""
        if self.height == 1:
            return Box((bracket,))
        first, between, last, *waist = FENCES[bracket]
        lines = [first, *between * (self.height - 2), last]
        if waist and self.height > 2:
            lines[min(max(self.baseline, 1), self.height - 2)] = waist[0]
        return Box(tuple(lines), self.baseline)


def row(boxes: Sequence[Box]) -> Box:
    return reduce(Box.beside, boxes, Box())


def column(boxes: Sequence[Box], side: Side = "left") -> Box:
    """One below the other, with the baseline in the middle."""
    whole = reduce(lambda upper, lower: upper.above(lower, side), boxes)
    return Box(whole.lines, (whole.height - 1) // 2)


def table(cells: Sequence[Sequence[Box]], sides: Sequence[Side], gaps: Sequence[int]) -> Box:
    """Cells in rows, with as many blanks before each column as `gaps` says.

    Rows of several lines are kept apart by an empty one. So are two rows at the left, so that a brace has its waist.
    """
    widths = [max(cell.width for cell in line) for line in zip(*cells, strict=True)]
    rows = [
        row([cell.widened(width, side).widened(width + gap, "right") for cell, width, side, gap in zip(
            line, widths, sides, gaps, strict=True)])
        for line in cells
    ]
    spread = len(rows) == 2 and set(sides) == {"left"}
    parts = rows[:1]
    for upper, lower in pairwise(rows):
        parts += [Box(), lower] if spread or max(upper.height, lower.height) > 1 else [lower]
    return column(parts)
