"""A deep network that is one linear map."""

from collections.abc import Iterator

from gradlab.diagnosis.record import Graph, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.diagnosis.rules.chains import VIEWS
from gradlab.wording import number

_MAPS = ("Addmm", "Mm", "Bmm", "Convolution", "Linear", "ConvolutionOverrideable", "Mv", "Dot", "Baddbmm", "Addmv")
# What keeps a map linear: sums, scalings, averages; dropout in training is a scaling that is drawn anew.
_LINEAR = VIEWS | {
    *_MAPS,
    *("Add", "Sub", "Mul", "Div", "Neg", "Mean", "Sum", "NativeDropout"),
    *("AvgPool1D", "AvgPool2D", "AdaptiveAvgPool2D", "MkldnnConvolution", "AccumulateGrad"),
}
_LOSSES = (
    "NllLoss",
    "NllLoss2D",
    "MseLoss",
    "BinaryCrossEntropyWithLogits",
    "BinaryCrossEntropy",
    "L1Loss",
    "SmoothL1Loss",
    "HuberLoss",
)


@rule(
    "missing_activation",
    title="there is no activation between the layers",
    meaning="Linear maps in a row are one linear map: the depth adds nothing, and curved boundaries cannot be learnt.",
    topic="activation.relu",
)
def missing_activation(record: Record) -> Iterator[Seen]:
    for loss in record.losses:
        for graph in loss.graphs[:1]:
            maps = _all_linear(graph)
            if maps is None or len(maps) < 2:
                continue
            poor = record.stuck() or record.left() > 0.5
            names = [graph.nodes[i].module or graph.nodes[i].name for i in maps]
            yield Seen(
                severity="error" if poor else "note",
                confidence=0.94 if poor else 0.5,
                where=f"{names[-1]} … {names[0]}",
                since=0,
                evidence=(
                    f"From the input to the loss there are {len(maps)} linear maps and nothing that bends; the loss "
                    "went from "
                    f"{number(loss.start)} to {number(loss.end)}."
                ),
                fix="nn.Sequential(nn.Linear(…), nn.ReLU(), nn.Linear(…))  # an activation after each hidden layer",
                series=loss.values,
            )
            return


def _all_linear(graph: Graph) -> list[int] | None:
    """The linear maps of a model, from the loss on, if there is nothing else in it."""
    start = _outputs(graph)
    if start is None:
        return None
    found = graph.above(start)
    if any(graph.nodes[i].name not in _LINEAR for i in found):
        return None
    # A product of two things that both depend on parameters bends: attention, gates, factorisations.
    for i in found:
        node = graph.nodes[i]
        if (
            node.name in ("Mul", "Bmm", "Mm", "Div")
            and sum(_depends(graph, j) for j in node.inputs) > 1
            and node.name != "Mm"
        ):
            return None
    maps = [i for i in sorted(found) if graph.nodes[i].name in _MAPS]
    chained = [i for i in maps if any(j in graph.above(k) for k in graph.nodes[i].inputs for j in maps if j != i)]
    return maps if chained else []


def _outputs(graph: Graph) -> int | None:
    """The model's output: the input of the loss function, past its own softmax or residual."""
    for index, _ in graph.named(*_LOSSES):
        inputs = graph.nodes[index].inputs
        while inputs and graph.nodes[inputs[0]].name in ("LogSoftmax", "Softmax", "Sigmoid", "LogSigmoid", *VIEWS):
            inputs = graph.nodes[inputs[0]].inputs
        return inputs[0] if inputs else None
    # By hand: the squares, absolute values or logarithms of the last part.
    index = 0
    for _ in range(40):
        node = graph.nodes[index]
        if node.name in ("Pow", "Abs", "Log", "LogSoftmax", "Softmax", "Sigmoid"):
            following = node.inputs
            while following and graph.nodes[following[0]].name in (
                "LogSoftmax",
                "Softmax",
                "Sigmoid",
                "Clamp",
                "Sub",
                *VIEWS,
            ):
                following = graph.nodes[following[0]].inputs
            return following[0] if following else None
        if not node.inputs:
            return None
        index = node.inputs[0]
    return None


def _depends(graph: Graph, index: int) -> bool:
    return any(graph.nodes[i].parameter is not None for i in graph.above(index))
