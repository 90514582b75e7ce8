"""A deep network that is one linear map."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import left, poor
from gradlab.diagnosis.record import Graph, Node, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.diagnosis.rules.chains import VIEWS
from gradlab.wording import number

_CONVOLUTIONS = ("Convolution", "ConvolutionOverrideable", "MkldnnConvolution", "SlowConv2D", "ConvDepthwise2D")
_MAPS = ("Addmm", "Mm", "Bmm", "Baddbmm", "Linear", "Addmv", "Mv", "Dot", *_CONVOLUTIONS)
# What keeps a map linear: sums, scalings, averages. Dropout is a scaling drawn anew, batch norm one that is measured.
_LINEAR = {*_MAPS, *VIEWS, "Add", "Sub", "Rsub", "Mul", "Div", "Neg", "Mean", "Sum", "AccumulateGrad", "NativeDropout"}
_LINEAR |= {"AvgPool1D", "AvgPool2D", "AdaptiveAvgPool2D", "NativeBatchNorm", "CudnnBatchNorm", "ConstantPadNd"}


@rule(
    "missing_activation",
    title="there is no activation between the layers",
    meaning="Linear maps in a row are one linear map: the depth adds nothing, and curved boundaries cannot be learnt.",
    topic="activation.relu",
)
def missing_activation(record: Record) -> Iterator[Seen]:
    for loss in record.losses:
        for graph in loss.graphs[:1]:
            layers = _all_linear(graph)
            in_vain = list(_in_vain(graph, layers))
            if not in_vain:
                continue
            bad = poor(record, 0.5)
            # With something left to learn, the depth was meant to learn it; what a line explains needs no depth.
            rest = left(record) > 0.3
            names = [graph.nodes[i].module or layers[i].parameter or graph.nodes[i].name for i in sorted(layers)]
            yield Seen(
                severity="error" if bad else "warning" if rest else "note",
                confidence=0.94 if bad else 0.75 if rest else 0.5,
                where=f"{names[-1]} … {names[0]}",
                since=0,
                evidence=(
                    f"From the input to the loss there are {len(layers)} linear maps and nothing that bends; the loss "
                    f"went from {number(loss.start)} to {number(loss.end)}."
                ),
                fix="nn.Sequential(nn.Linear(…), nn.ReLU(), nn.Linear(…))  # an activation after each hidden layer",
                series=loss.values,
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
    for i in reversed(node.inputs):
        one = graph.nodes[i]
        while one.name in VIEWS and len(one.inputs) == 1:
            one = graph.nodes[one.inputs[0]]
        if one.parameter is not None and len(one.shape) >= 2:
            return one
    return None


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
        if i in seen:
            continue
        seen.add(i)
        if i in layers:
            yield i
        else:
            waiting += graph.nodes[i].inputs
