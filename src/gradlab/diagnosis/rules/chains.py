"""Following a loss's graph from the loss towards the model, past operations that change no number's meaning."""

from collections.abc import Iterator

from gradlab.diagnosis.record import Graph, Node

VIEWS = frozenset(
    {
        *("View", "UnsafeView", "_UnsafeView", "Reshape", "ReshapeAlias", "Flatten", "Squeeze", "Unsqueeze", "Expand"),
        *("Permute", "Transpose", "T", "Mt", "Clone", "Contiguous", "Copy", "CopyBackwards", "ToCopy", "Alias"),
        *("AsStrided", "Slice", "Narrow", "Select", "Index", "IndexSelect", "Gather", "MaskedSelect"),
        *("Split", "SplitWithSizes", "Chunk", "Unbind", "Cat", "Stack"),
    }
)
"""They move numbers; they do not change them."""


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
