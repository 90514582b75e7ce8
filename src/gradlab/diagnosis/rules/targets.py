"""Targets that tell nothing any more: all the same, or on a scale that is not the loss's or the model's."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import adversarial, constant_loss, poor
from gradlab.diagnosis.record import Graph, LossCall, Record
from gradlab.diagnosis.rules.base import LOOKS, STEPS, Case, Rule, at
from gradlab.diagnosis.rules.chains import VIEWS, first_graphs, sources

_ENOUGH = 100  # targets
_TINY, _LARGE = 0.02, 50.0
_BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
_HEADS = ("Addmm", "Mm", "Linear", "Convolution", "MkldnnConvolution", "Bmm")
# From a loss back to the layer that made its input: nothing that puts several things side by side.
_TO_LAYER = (VIEWS - {"Cat", "Stack"}) | {"LogSoftmax", "Softmax", "Sigmoid", "Add"}
_LOSSES = ("NllLoss", "NllLoss2D", "BinaryCrossEntropy", "BinaryCrossEntropyWithLogits", "MseLoss", "L1Loss")


def _only(record: Record) -> LossCall | None:
    """The only loss function of a training, called often enough; players against each other have targets of 0 and 1."""
    calls = [j for j in record.loss_calls if j.training and j.count]
    return calls[0] if len(calls) == 1 and len(calls[0].values) >= LOOKS and not adversarial(record) else None


@Rule(
    slug="constant_target",
    title="all targets are the same",
    meaning="There is one answer to everything, so that the loss goes to nothing and nothing is learnt.",
    evidence="All {count:,} targets that were looked at are {value:g}; the loss ended at {end}.",
    remedy="print(y.unique())  # find where they become equal: a division of whole numbers, a cast, a wrong fill",
)
def constant_target(record: Record) -> Iterator[Case]:
    yield from _one_answer(record)
    call = _only(record)
    # With a place for the right answer among candidates (contrast with a queue), its number is the same on purpose.
    if call is None or record.steps < LOOKS or not any(_from_layer(graph) for _, graph in first_graphs(record)):
        return
    if call.targets and len(call.targets) == 1 and call.kind not in _BINARY:
        value, count = float(next(iter(call.targets))), call.targets.total()
    elif call.target_low == call.target_high and math.isfinite(call.target_low):
        value, count = call.target_low, math.prod(call.target_shape) * len(call.values)
    else:
        return
    # A residual that should vanish, as in physics, is compared with zero.
    residual = value == 0 and call.kind not in _BINARY and not call.targets
    if count >= _ENOUGH and not residual:
        end = call.values.tail()
        yield Case(("error", 0.94), at("loss", call.site), series=call.values, count=count, value=value, end=end)


def _one_answer(record: Record) -> Iterator[Case]:
    """Players against each other who are all told the same: what is made and what is real are both called real."""
    calls = [j for j in record.loss_calls if j.training and j.count]
    values = {value for j in calls for value in (j.target_low, j.target_high)}
    if len(calls) < 3 or len(values) != 1 or not adversarial(record) or any(len(j.values) < LOOKS for j in calls):
        return
    if any(j.kind not in _BINARY or j.targets.total() < _ENOUGH for j in calls):
        return
    yield Case(
        ("error", 0.9),
        *(at("loss", j.site) for j in calls[:3]),
        series=calls[0].values,
        evidence="All players are given the same targets, {value:g}, in {calls} losses: nobody can tell them apart.",
        remedy="labels of 1 for real and 0 for made ones; a tensor that is filled in place is the same in both",
        value=values.pop(),
        calls=len(calls),
    )


def _from_layer(graph: Graph) -> bool:
    """Whether a loss is made of what a layer gives."""
    return any(
        before.name in _HEADS or graph.nodes[i].parameter is not None
        for index, _ in graph.named(*_LOSSES)
        for i, before in sources(graph, index, _TO_LAYER)
    )


@Rule(
    slug="target_scale",
    title="the targets are on another scale than the loss or the model expects",
    meaning="Answers that are far too large or too small cannot be reached, or say next to nothing.",
)
def target_scale(record: Record) -> Iterator[Case]:
    for call in record.loss_calls:
        if not call.training or len(call.values) < LOOKS:
            continue
        if call.kind in _BINARY and call.target_low < call.target_high:
            yield from _not_shares(call)
        elif call.kind in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            yield from _out_of_reach(record, call)


def _not_shares(call: LossCall) -> Iterator[Case]:
    """Binary targets lie between 0 and 1, and some of them are positive."""
    low, high = call.target_low, call.target_high
    if low < -1e-3 or high > 1 + 1e-3:
        evidence = (
            "Targets of {kind} lie between {low:g} and {high:g}, not between 0 and 1: the loss has no floor, and ended "
            "at {end}."
        )
        remedy = "y = y / {high:g}  # so that targets are 0 and 1"
    elif high < _TINY:
        evidence = (
            "No target of {kind} is above {high:.3g}: every example is all but negative. The loss ended at {end}."
        )
        remedy = "y = (y > 0).float()  # targets are 0 and 1; they may have been scaled twice"
    else:
        return
    yield Case(
        ("error", 0.96),
        at("loss", call.site),
        series=call.values,
        evidence=evidence,
        remedy=remedy,
        kind=call.kind,
        low=low,
        high=high,
        end=call.values.tail(),
    )


def _out_of_reach(record: Record, call: LossCall) -> Iterator[Case]:
    """Numbers so large that the outputs have not come near them: a constant would still be better."""
    targets, constant = call.first_targets, constant_loss(record)
    if targets is None or targets.numel() < 2 or record.steps < STEPS or not math.isfinite(constant):
        return
    targets = targets.float()
    size, spread = float(targets.square().mean().sqrt()), float(targets.std())
    if size < _LARGE or not poor(record, 1.0):
        return
    yield Case(
        ("error", 0.92),
        at("loss", call.site),
        series=call.values,
        evidence=(
            "Targets have a size of {size} (deviation {spread}); the loss went from {start} to {end}, where the mean "
            "of the targets alone would give {constant}: the outputs are still on their way."
        ),
        remedy="y = (y - y_train.mean()) / y_train.std()  # and back again for what is shown",
        size=size,
        spread=spread,
        start=call.values.first,
        end=call.values.tail(),
        constant=constant,
    )
