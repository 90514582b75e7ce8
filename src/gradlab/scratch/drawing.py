"""The graph of a small computation, drawn: each tensor with its value and its gradient.

>>> x, y = Tensor(3.0, "x"), Tensor(-2.0, "y")
>>> z = x * y + x
>>> z.backward()
>>> print(text(z))
         value  gradient
+           -3         1
├─ ×        -6         1
│  ├─ x      3        -1
│  └─ y     -2         3
└─ x ↑       3        -1
"""

from html import escape

from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor

SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "×",
    "divide": "÷",
    "power": "^",
    "matmul": "@",
    "total": "sum",
    "largest": "max",
    "index": "[ ]",
}
WIDTH, HEIGHT, GAP = 150, 62, 50  # of a box in the picture, and the room for wires


def text(result: Tensor) -> str:
    """A tree of lines, from the result down to its inputs. A tensor that is used again is marked ↑ and not repeated."""
    labels = _labels(result)
    lines = [("", "value", "gradient")]
    drawn: set[Tensor] = set()

    def draw(node: Tensor, branch: str, below: str) -> None:
        again = node in drawn
        lines.append((branch + labels[node] + (" ↑" if again else ""), _number(node.value), _number(node.grad)))
        if again:
            return
        drawn.add(node)
        for i, parent in enumerate(node.parents, start=1):
            last = i == len(node.parents)
            draw(parent, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))

    draw(result, "", "")
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    return "\n".join(f"{a:{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in lines)


def svg(result: Tensor) -> str:
    """A picture for a web page: inputs at the left, the result at the right; below each value, in red, its gradient."""
    labels = _labels(result)
    columns = _columns(labels)
    tallest = max(map(len, columns))
    places = {
        node: (10 + (WIDTH + GAP) * i, 10 + (HEIGHT + GAP // 2) * (j + (tallest - len(column)) / 2))
        for i, column in enumerate(columns)
        for j, node in enumerate(column)
    }
    wires = [_wire(places[parent], places[node]) for node in places for parent in node.parents]
    boxes = [_box(*places[node], labels[node], _number(node.value), _number(node.grad)) for node in places]
    size = f"{(WIDTH + GAP) * len(columns)} {(HEIGHT + GAP // 2) * tallest}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="13">'
    return "\n".join([head, *wires, *boxes, "</svg>"])


def _wire(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = (start[0] + WIDTH, start[1] + HEIGHT / 2), (end[0], end[1] + HEIGHT / 2)
    middle = (x + to_x) / 2
    return f'<path d="M{x:g},{y:g} C{middle:g},{y:g} {middle:g},{to_y:g} {to_x:g},{to_y:g}" fill="none" stroke="#888"/>'


def _box(x: float, y: float, *rows: str) -> str:
    frame = f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff" stroke="#888"/>'
    words = "".join(
        f'<text x="{x + WIDTH / 2:g}" y="{y + 18 * i:g}" text-anchor="middle" fill="{colour}">{escape(row)}</text>'
        for i, (row, colour) in enumerate(zip(rows, ("#000", "#06c", "#c00"), strict=True), start=1)
    )
    return f"<g>{frame}{words}</g>"


def _labels(result: Tensor) -> dict[Tensor, str]:
    """What each tensor behind a result is called, the result last: its name and its gate, as far as it has them.

    A tensor that is used more than once and has no name gets one, so that the second place can point to the first.
    """
    order: list[Tensor] = []
    uses: dict[Tensor, int] = {result: 0}

    def visit(node: Tensor) -> None:
        for parent in node.parents:
            uses[parent] = uses.get(parent, 0) + 1
            if uses[parent] == 1:
                visit(parent)
        order.append(node)

    visit(result)
    labels = {}
    numbers = iter(range(1, len(order) + 1))
    for node in order:
        name = node.name or (f"t{next(numbers)}" if uses[node] > 1 else "")
        sign = SIGNS.get(node.gate, node.gate)
        labels[node] = " = ".join(filter(None, (name, sign))) or ("constant" if node.constant else "input")
    return labels


def _columns(order: dict[Tensor, str]) -> list[list[Tensor]]:
    """Tensors by the longest way from an input to them: whatever a tensor is made of stands further left."""
    depth: dict[Tensor, int] = {}
    for node in order:
        depth[node] = max((depth[parent] + 1 for parent in node.parents), default=0)
    return [[node for node in order if depth[node] == i] for i in range(max(depth.values()) + 1)]


def _number(value: Array | None) -> str:
    """A number as it is, a few in brackets, many by their shape.

    >>> import numpy as np
    >>> _number(np.array(0.12345)), _number(np.array([1.0, -2.5])), _number(np.zeros((3, 4))), _number(None)
    ('0.123', '[1 -2.5]', '3×4', '')
    """
    if value is None:
        return ""
    if value.ndim == 0:
        return f"{value.item():.3g}"
    if value.ndim == 1 and value.size <= 3:
        return "[" + " ".join(f"{v:.3g}" for v in value.tolist()) + "]"
    return "×".join(map(str, value.shape))
