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
from gradlab.scratch.layout import layout
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
WIDTH, HEIGHT, GAP, ROOM, MARGIN = 96, 62, 44, 12, 2  # of a box in the picture, between layers, and within one
# Variables of a page that has light and dark colours, with what stands for them elsewhere.
INK, CARD, SOFT = "var(--ink, #000)", "var(--card, #fff)", "var(--soft, #888)"
VALUE, GRADIENT = "var(--accent, #06c)", "var(--poor, #c00)"


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


def svg(result: Tensor, down: bool = False) -> str:
    """A picture for a web page: inputs at the left, the result at the right; below each value, in red, its gradient.

    The first input of a gate meets it above the second. `down` has the inputs at the top and the first of a gate at
    the left, for narrow windows. The colours are those of the page, where it has them.
    """
    labels = _labels(result)
    drawn = layout({node: node.parents for node in labels})
    along, across = (HEIGHT + GAP, WIDTH + ROOM) if down else (WIDTH + GAP, HEIGHT + ROOM)
    corners = {node: (MARGIN + along * i, MARGIN + across * j) for node, (i, j) in drawn.places.items()}
    places = {node: corner[::-1] if down else corner for node, corner in corners.items()}
    uses = [(i + 1) / (len(node.parents) + 1) for node in labels for i, _ in enumerate(node.parents)]
    wires = [_wire([corners[node] for node in edge], port, down) for edge, port in zip(drawn.edges, uses, strict=True)]
    boxes = [_box(*places[node], labels[node], _number(node.value), _number(node.grad)) for node in labels]
    width, height = (
        max(place[i] for place in places.values()) + size + MARGIN for i, size in ((0, WIDTH), (1, HEIGHT))
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="13" role="img">'
    )
    return "\n".join([head, *wires, *boxes, "</svg>"])


def _wire(corners: list[tuple[float, float]], port: float, down: bool) -> str:
    """Along the corners of boxes: from the far side of the first, by the bends, to a port of the last.

    `x` goes from layer to layer; in a picture that goes down that is upright.
    """
    length, breadth = (HEIGHT, WIDTH) if down else (WIDTH, HEIGHT)

    def at(x: float, y: float) -> str:
        return f"{y:g},{x:g}" if down else f"{x:g},{y:g}"

    (x, y), *others = corners
    x, y = x + length, y + breadth / 2
    path = f"M{at(x, y)}"
    for i, (to_x, top) in enumerate(others, start=1):
        last = i == len(others)
        to_y, middle = top + breadth * (port if last else 0.5), (x + to_x) / 2
        path += f" C{at(middle, y)} {at(middle, to_y)} {at(to_x, to_y)}"
        x, y = to_x, to_y
        if not last:
            x += length
            path += f" L{at(x, y)}"
    return f'<path d="{path}" fill="none" stroke="{SOFT}" stroke-width="1.5"/>'


def _box(x: float, y: float, *rows: str) -> str:
    frame = f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{CARD}" stroke="{SOFT}"/>'
    words = "".join(
        f'<text x="{x + WIDTH / 2:g}" y="{y + 18 * i:g}" text-anchor="middle" fill="{colour}">{escape(row)}</text>'
        for i, (row, colour) in enumerate(zip(rows, (INK, VALUE, GRADIENT), strict=True), start=1)
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
