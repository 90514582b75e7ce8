"""Following a loss's graph from the loss towards the model, past operations that change no number's meaning."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.record import Graph, Loss, Node, Record

VIEWS = frozenset(
    {
        *("View", "UnsafeView", "_UnsafeView", "Reshape", "ReshapeAlias", "Flatten", "Squeeze", "Unsqueeze", "Expand"),
        *("Permute", "Transpose", "T", "Mt", "Clone", "Contiguous", "Copy", "CopyBackwards", "ToCopy", "Alias"),
        *("AsStrided", "Slice", "Narrow", "Select", "Index", "IndexSelect", "Gather", "MaskedSelect"),
        *("Split", "SplitWithSizes", "Chunk", "Unbind", "Cat", "Stack"),
    }
)
"""They move numbers; they do not change them."""


def first_graphs(record: Record) -> Iterator[tuple[Loss, Graph]]:
    """Each loss with the graph of its first look."""
    for loss in record.losses:
        for graph in loss.graphs[:1]:
            yield loss, graph


def origin(graph: Graph, index: int) -> Node:
    """What a node is a view of."""
    node = graph.nodes[index]
    while node.name in VIEWS and len(node.inputs) == 1:
        node = graph.nodes[node.inputs[0]]
    return node


def sources(graph: Graph, index: int, through: frozenset[str] = VIEWS) -> Iterator[tuple[int, Node]]:
    """The nodes that made the inputs of a node, past those of some kinds."""
    seen, waiting = set[int](), list(graph.nodes[index].inputs)
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        node = graph.nodes[number]
        if node.name in through:
            waiting += node.inputs
        else:
            yield number, node


def users(graph: Graph) -> dict[int, list[int]]:
    """By node, those that take its result."""
    takers: dict[int, list[int]] = {}
    for i, node in enumerate(graph.nodes):
        for j in node.inputs:
            takers.setdefault(j, []).append(i)
    return takers


def towards_loss(graph: Graph, index: int) -> set[int]:
    """All nodes between a node and the loss."""
    takers, between, waiting = users(graph), set[int](), [index]
    while waiting:
        for i in takers.get(waiting.pop(), []):
            if i not in between:
                between.add(i)
                waiting.append(i)
    return between


_KEEPING = VIEWS | {"NativeDropout", "Mul", "MaskedFill", "Where"}
_PRODUCTS = ("Mm", "Bmm", "Baddbmm")


def summed_away(graph: Graph, index: int, axis: int) -> bool | None:
    """Whether the first product of matrices that a tensor goes into sums over that axis of it.

    None where it goes into no product with another tensor (one with a weight is a layer), or its axes are lost.
    """
    using = users(graph)
    waiting, seen = [(index, axis)], {index}
    while waiting:
        at, axis = waiting.pop()
        shape = graph.nodes[at].shape
        for i in using.get(at, []):
            node = graph.nodes[i]
            if node.name in _PRODUCTS:
                operands = node.inputs[-2:]
                if any(_weight(graph, j) for j in operands if j != at) or len(shape) != len(node.shape):
                    return None
                # The left one is summed over its last axis, the right one over its last but one.
                left = operands[0] == at if len(operands) == 2 else shape[-2] == node.shape[-2]
                return axis == len(shape) - (1 if left else 2)
            moved = _followed(node, shape, axis) if node.name in _KEEPING and i not in seen else None
            if moved is not None:
                seen.add(i)
                waiting.append((i, moved))
    return None


def is_product(graph: Graph, index: int) -> bool:
    """Whether a node is made of a product of two tensors, neither of them a weight, as the scores of attention are."""
    through = VIEWS | {"Mul", "Div", "MaskedFill", "Where", "Add"}
    products = [node for _, node in sources(graph, index, through) if node.name in _PRODUCTS]
    return any(len(n.inputs) >= 2 and not any(_weight(graph, j) for j in n.inputs[-2:]) for n in products)


def _followed(node: Node, shape: tuple[int, ...], axis: int) -> int | None:
    """Where an axis of a node's input is in its result."""
    if node.axes:
        return node.axes.index(axis) if axis in node.axes else None
    if node.shape == shape:
        return axis
    # A view keeps an axis whose size, and that of all after it, are found again.
    size, after = shape[axis], math.prod(shape[axis + 1 :])
    alike = [i for i, n in enumerate(node.shape) if n == size and math.prod(node.shape[i + 1 :]) == after]
    if len(alike) == 1:
        return alike[0]
    # Joined with others into the batch of a product of matrices, it is somewhere in there.
    joined = (math.prod(shape[:end]) for end in range(axis + 1, len(shape)))
    return 0 if len(node.shape) == 3 and node.shape[0] in joined else None


def _weight(graph: Graph, index: int) -> bool:
    """Whether a node is a parameter, or a view of one."""
    return origin(graph, index).parameter is not None
