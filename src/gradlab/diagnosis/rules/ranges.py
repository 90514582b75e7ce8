"""Outputs that cannot be what they should: an activation at the end that the targets, or the loss, do not fit."""

import math
from collections.abc import Iterator

from torch import Tensor

from gradlab.diagnosis.progress import HALF, left, poor
from gradlab.diagnosis.record import Graph, Loss, LossCall, Node, Record
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, at
from gradlab.diagnosis.rules.chains import VIEWS, first_graphs, sources

_NUMBERS = {"mse_loss": 2, "l1_loss": 1, "smooth_l1_loss": 2, "huber_loss": 2}
_RANGES = {
    "Relu": (0.0, math.inf),
    "Softplus": (0.0, math.inf),
    "Sigmoid": (0.0, 1.0),
    "Softmax": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
}
_COMPARED = ("MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
_CUTS = ("Clamp", "ClampMin", "ClampMax", "Hardtanh")
_LAYERS = ("Addmm", "Mm", "Linear", "Add", "Convolution", "MkldnnConvolution", "Relu")
_FLOOR = 0.1  # of the variance of the targets


@Rule(
    slug="output_range",
    title="the model's outputs cannot reach its targets",
    meaning="What stands at the end of the model bounds its outputs: no training gets them to where they should be.",
)
def output_range(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        case = _numbers(record, loss, graph) or _half(record, loss, graph) or _cut(record, loss, graph)
        case = case or _flat(record, loss, graph)
        if case is not None:
            yield case
            return


def _calls(record: Record, kinds: tuple[str, ...]) -> Iterator[LossCall]:
    return (j for j in record.loss_calls if j.training and j.kind in kinds and len(j.values) >= LOOKS)


def _numbers(record: Record, loss: Loss, graph: Graph) -> Case | None:
    """Targets that lie outside of an activation's range, by so much that a large part of the loss must remain."""
    for call in _calls(record, tuple(_NUMBERS)):
        targets = call.first_targets
        if targets is None or targets.numel() < 8:
            continue
        for node in _last(graph, call):
            low, high = _RANGES[node.name]
            floor = _floor(targets.float(), low, high, _NUMBERS[call.kind])
            outside = float(((targets < low) | (targets > high)).float().mean())
            if floor < _FLOOR or outside < 0.05:
                continue
            return Case(
                ("error", 0.95),
                *([node.module] if node.module else []),
                at("loss", call.site),
                series=loss.values,
                evidence=(
                    "The outputs are those of a {kind}, {range}, while targets lie between {lowest} and {highest}: "
                    "{outside:.0%} of them are out of reach, and {floor:.0%} of a constant's loss must remain. "
                    "The loss went from {start} to {end}."
                ),
                remedy="return self.last(x)  # no activation after the last layer; or targets scaled into its range",
                kind=node.name.lower(),
                range=f"from {low:g} up" if math.isinf(high) else f"from {low:g} to {high:g}",
                lowest=float(targets.min()),
                highest=float(targets.max()),
                outside=outside,
                floor=floor,
                start=call.values.first,
                end=call.values.tail(),
            )
    return None


def _last(graph: Graph, call: LossCall) -> Iterator[Node]:
    """Bounded activations whose result goes into the comparison with the targets, with nothing but views between."""
    size = math.prod(call.input_shape)
    compared = [i for i, _ in graph.named(*_COMPARED)]
    compared = compared or [i for i, node in graph.named("Sub", "Rsub") if math.prod(node.shape) == size]
    if len(compared) != 1:  # of several it is not known which targets belong to which
        return
    for _, node in sources(graph, compared[0], VIEWS - {"Cat", "Stack"}):
        if node.name in _RANGES and math.prod(node.shape) == size:
            yield node


def _floor(targets: Tensor, low: float, high: float, power: int) -> float:
    """The part of a constant's loss that the nearest outputs within the range still have."""
    away = (targets - targets.clamp(low, high)).abs().pow(power).mean()
    middle = targets.mean() if power == 2 else targets.median()
    constant = (targets - middle).abs().pow(power).mean()
    return float(away / constant.clamp(min=1e-12))


def _half(record: Record, loss: Loss, graph: Graph) -> Case | None:
    """A sigmoid of what is never negative: nothing is ever less likely than a half."""
    for index, node in graph.named("Sigmoid", "BinaryCrossEntropyWithLogits"):
        if node.name == "Sigmoid" and not _into(graph, index, "BinaryCrossEntropy"):
            continue
        call = next((j for j in _calls(record, _BINARY) if j.targets[0] > 0), None)
        before = [one for _, one in sources(graph, index) if one.name in ("Relu", "Softplus")]
        if call is None or not before or not _all(loss, "Sigmoid", "BinaryCrossEntropyWithLogits"):
            continue
        share = call.targets[0] / max(1, call.targets.total())
        return Case(
            ("error", 0.96),
            before[0].module or "the model's output",
            at("loss", call.site),
            series=loss.values,
            evidence=(
                "A {kind} stands before the sigmoid: of what is never negative the sigmoid is at least a half, so that "
                "{share:.0%} of the targets (0) cannot be reached, at a loss of at least 0.69 each. It ended at {end}."
            ),
            remedy="return torch.sigmoid(self.last(x))  # nothing between the last layer and the sigmoid",
            kind=before[0].name.lower(),
            share=share,
            end=loss.end,
        )
    return None


_BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


def _into(graph: Graph, index: int, name: str) -> bool:
    return any(index in {i for i, _ in sources(graph, at_)} for at_, _ in graph.named(name))


def _all(loss: Loss, *names: str) -> bool:
    return all(any(True for _ in graph.named(*names)) for graph in loss.graphs)


def _cut(record: Record, loss: Loss, graph: Graph) -> Case | None:
    """Scores that are cut to what a loss of probabilities takes: where they are cut there is no gradient."""
    for index, node in graph.named("BinaryCrossEntropy", "Log"):
        cuts = {i: one for i, one in sources(graph, index) if one.name in _CUTS}
        for inner, one in cuts.items():
            layer = next((n for _, n in sources(graph, inner, _SCALED) if n.name in _LAYERS), None)
            bounded = any(n.name not in _LAYERS for _, n in sources(graph, inner, _SCALED))
            kinds = _BINARY if node.name == "BinaryCrossEntropy" else ("nll_loss", "cross_entropy")
            if layer is None or bounded or not (any(_calls(record, kinds)) or poor(record, HALF)):
                continue
            return Case(
                ("error", 0.94) if poor(record, HALF) or left(record) > 0.3 else ("warning", 0.8),
                layer.module or one.module or "the model's output",
                at("loss", loss.site),
                series=loss.values,
                evidence=(
                    "The loss is one of probabilities, and is given a layer's scores of any size, cut to between 0 and "
                    "1: whatever lies outside has no gradient. It went from {start} to {end}."
                ),
                remedy=(
                    "torch.sigmoid(x), or torch.softmax(x, 1), at the end of the model; or a loss that takes logits: "
                    "nn.BCEWithLogitsLoss(), nn.CrossEntropyLoss(), from_logits=True"
                ),
                start=loss.start,
                end=loss.end,
            )
    return None


_SCALED = VIEWS | {"Div", "Sum"}


def _flat(record: Record, loss: Loss, graph: Graph) -> Case | None:
    """Logits that are cut at zero, or lie between -1 and 1, before a softmax."""
    for index, _ in graph.named("LogSoftmax"):
        if not _into(graph, index, "NllLoss") or not poor(record, HALF):
            continue
        for _, one in sources(graph, index):
            if one.name in ("Relu", "Tanh"):
                kind = "negative" if one.name == "Relu" else "above 1 or below -1"
                return Case(
                    ("error", 0.9),
                    one.module or "the model's output",
                    at("loss", loss.site),
                    series=loss.values,
                    evidence=(
                        "A {name} stands between the last layer and the softmax: no logit is ever {kind}, and the loss "
                        "went from {start} to only {end}."
                    ),
                    remedy="return self.last(x)  # logits of any size, with no activation after them",
                    name=one.name.lower(),
                    kind=kind,
                    start=loss.start,
                    end=loss.end,
                )
    return None
