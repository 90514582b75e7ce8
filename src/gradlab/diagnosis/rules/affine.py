"""A deep network that is one linear map."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import HALF, left, poor
from gradlab.diagnosis.record import Graph, Node, Record
from gradlab.diagnosis.rules.base import Case, Grade, Rule, course
from gradlab.diagnosis.rules.chains import VIEWS, first_graphs, origin

_CONVOLUTIONS = ("Convolution", "ConvolutionOverrideable", "MkldnnConvolution", "SlowConv2D", "ConvDepthwise2D")
_MAPS = ("Addmm", "Mm", "Bmm", "Baddbmm", "Linear", "Addmv", "Mv", "Dot", *_CONVOLUTIONS)
# What keeps a map linear: sums, scalings, averages. Dropout is a scaling drawn anew, batch norm one that is measured.
_LINEAR = {*_MAPS, *VIEWS, "Add", "Sub", "Rsub", "Mul", "Div", "Neg", "Mean", "Sum", "AccumulateGrad", "NativeDropout"}
_LINEAR |= {"AvgPool1D", "AvgPool2D", "AdaptiveAvgPool2D", "NativeBatchNorm", "CudnnBatchNorm", "ConstantPadNd"}


@Rule(
    slug="missing_activation",
    title="there is no activation between the layers",
    meaning="Linear maps in a row are one linear map: the depth adds nothing, and curved boundaries cannot be learnt.",
    evidence=(
        "From the input to the loss there are {maps} linear maps and nothing that bends; the loss went from {start} to "
        "{end}."
    ),
    remedy="nn.Sequential(nn.Linear(…), nn.ReLU(), nn.Linear(…))  # an activation after each hidden layer",
    topic="activation.relu",
)
def missing_activation(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        layers = _all_linear(graph)
        if next(_in_vain(graph, layers), None) is None:
            continue
        # With something left to learn, the depth was meant to learn it; what a line explains needs no depth.
        rest: Grade = ("warning", 0.75) if left(record) > 0.3 else ("note", 0.5)
        names = [graph.nodes[i].module or layers[i].parameter or graph.nodes[i].name for i in sorted(layers)]
        yield Case(
            ("error", 0.94) if poor(record, HALF) else rest,
            f"{names[-1]} … {names[0]}",
            series=loss.values,
            maps=len(layers),
            **course(loss),
        )
        return


def _all_linear(graph: Graph) -> dict[int, Node]:
    """The layers of a model with their weights, if nothing before the last of them bends; otherwise none."""
    layers = {i: w for i, node in graph.named(*_MAPS) if (w := _weight(graph, node)) is not None}
    above = {i: graph.above(i) for i in layers}
    last = [i for i in layers if not any(i in above[j] for j in layers if j != i)]
    before = set[int]().union(*(above[i] for i in last))
    if any(graph.nodes[i].name not in _LINEAR or _bends(graph, i) for i in before):
        return {}
    # A layer that is used again and again is a recurrence, or the way back of an autoencoder.
    return layers if len({w.parameter for w in layers.values()}) == len(layers) else {}


def _weight(graph: Graph, node: Node) -> Node | None:
    """The matrix or kernel that a map has for a weight."""
    sources = (origin(graph, i) for i in reversed(node.inputs))
    return next((one for one in sources if one.parameter is not None and len(one.shape) >= 2), None)


def _bends(graph: Graph, index: int) -> bool:
    """Whether a node is a product of two things that both depend on parameters: attention, gates, factorisations."""
    node = graph.nodes[index]
    if node.name in _MAPS:
        return _weight(graph, node) is None and len(node.inputs) > 1
    return node.name in ("Mul", "Div") and sum(_depends(graph, i) for i in node.inputs) > 1


def _depends(graph: Graph, index: int) -> bool:
    return any(graph.nodes[i].parameter is not None for i in graph.above(index))


def _in_vain(graph: Graph, layers: dict[int, Node]) -> Iterator[int]:
    """Layers after which another one follows that could do the work of both.

    Two maps with fewer units between them than either side has are a map of low rank: that is meant.
    """
    for i, weight in layers.items():
        for j in _fed_by(graph, i, layers):
            if graph.nodes[i].name in _CONVOLUTIONS or graph.nodes[j].name in _CONVOLUTIONS:
                yield j
                continue
            units, outputs = graph.nodes[j].shape[-1], graph.nodes[i].shape[-1]
            inputs = math.prod(layers[j].shape) // max(1, units)
            if units >= min(inputs, outputs) and weight is not layers[j]:
                yield j


def _fed_by(graph: Graph, index: int, layers: dict[int, Node]) -> Iterator[int]:
    """The layers that come right before a layer."""
    seen, waiting = set[int](), list(graph.nodes[index].inputs)
    while waiting:
        i = waiting.pop()
        if i in layers and i not in seen:
            yield i
        elif i not in seen:
            waiting += graph.nodes[i].inputs
        seen.add(i)
