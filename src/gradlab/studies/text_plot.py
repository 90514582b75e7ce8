"""A curve as text, for terminals and pipes alike."""

from collections.abc import Sequence

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # Braille: four rows of two dots in a character


def text_plot(
    values: Sequence[float], *, width: int = 64, height: int = 8, labels: tuple[str, str] = ("", "")
) -> list[str]:
    """Lines of text that draw the values from left to right; the labels stand below the two ends.

    >>> for line in text_plot([0, 1, 2, 3, 2, 1, 0], width=8, height=2, labels=("a", "b")):
    ...     print(line)
    3 ⠀⠀⡤⠜⠱⠤⡀⠀
    0 ⣀⠖⠁⠀⠀⠀⠓⣄
      a      b
    """
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    columns, rows = 2 * width, 4 * height
    cells = [[0] * width for _ in range(height)]
    before: int | None = None
    for column in range(columns):
        value = values[round(column * (len(values) - 1) / (columns - 1))]
        row = round((high - value) / span * (rows - 1))
        # A steep piece is filled in, so that the curve does not fall apart.
        last = row if before is None else before
        for filled in range(min(row, last + 1), max(row, last - 1) + 1):
            cells[filled // 4][column // 2] |= _DOTS[filled % 4][column % 2]
        before = row
    drawn = ["".join(chr(0x2800 + dots) for dots in line) for line in cells]
    edge = [f"{high:.3g}", *[""] * (height - 2), f"{low:.3g}"] if height > 1 else [f"{high:.3g}"]
    margin = max(map(len, edge))
    body = [f"{name:>{margin}} {line}" for name, line in zip(edge, drawn, strict=True)]
    return [*body, f"{'':>{margin}} {labels[0]}{labels[1]:>{width - len(labels[0])}}"]


def text_scatter(points: Sequence[Sequence[float]], *, width: int = 48, height: int = 12) -> list[str]:
    """Lines of text that draw points in the plane; the ranges of both coordinates stand below.

    >>> for line in text_scatter([(0, 0), (1, 1), (2, 2), (3, 3)], width=4, height=2):
    ...     print(line)
    ⠀⠀⠠⠈
    ⡀⠂⠀⠀
    x 0 … 3, y 0 … 3
    """
    ends = [(min(axis), max(axis)) for axis in zip(*points, strict=True)]
    cells = [[0] * width for _ in range(height)]
    for point in points:
        shares = [(value - low) / ((high - low) or 1.0) for value, (low, high) in zip(point, ends, strict=True)]
        column, row = round(shares[0] * (2 * width - 1)), round((1 - shares[1]) * (4 * height - 1))
        cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
    drawn = ["".join(chr(0x2800 + dots) for dots in line) for line in cells]
    ranges = [f"{name} {low:.3g} … {high:.3g}" for name, (low, high) in zip("xy", ends, strict=True)]
    return [*drawn, ", ".join(ranges)]
