"""Losses that are not what they look like: a softmax too many, a wrong axis, shapes that broadcast."""

import math
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from gradlab.diagnosis.progress import MOST, poor, stuck
from gradlab.diagnosis.record import Graph, Loss, LossCall, Node, Record, Site
from gradlab.diagnosis.rules.base import Case, Rule, at, course
from gradlab.diagnosis.rules.chains import VIEWS, first_graphs, is_product, sources, summed_away, towards_loss

_CLASS_LOSSES = ("NllLoss", "NllLoss2D", "NllLossNd")
_LOSSES = {"MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss"}
_BOUNDS = {"Clamp", "ClampMin", "ClampMax", "Abs"}
_ONE_BY_ONE = VIEWS | {"Mul", "Div", "Neg", "Add", "Sub", "Rsub", "Mean", "Sum", "Log"}
"""What may stand between an output and the loss without any two of its numbers being compared."""
_RESIDUAL = _ONE_BY_ONE | {"Pow", "Square", "Abs", "Sqrt", "Cosh", "Where", "Maximum"}
_OUTPUT = "the model's output"


@Rule(
    slug="softmax_before_ce",
    title="probabilities go into a loss that wants logits",
    meaning=(
        "Cross-entropy takes the softmax itself: of numbers between 0 and 1 it can never get near zero, and "
        "gradients shrink."
    ),
    evidence=(
        "The input of cross-entropy already lies between 0 and 1 ({what}): with {classes} classes the loss cannot go "
        "below {floor:.2f}; it ended at {end}."
    ),
    remedy="return logits  # drop the softmax from the model; take it only to show probabilities",
    topic="loss.cross_entropy",
)
def softmax_before_ce(record: Record) -> Iterator[Case]:
    """LogSoftmax from Softmax (or Sigmoid), NllLoss from Softmax, or inputs of cross_entropy that sum to 1."""
    for loss, graph in first_graphs(record):
        for index, node in graph.named("LogSoftmax", *_CLASS_LOSSES):
            for _, before in sources(graph, index):
                if before.name == "Softmax" or (before.name == "Sigmoid" and node.name == "LogSoftmax"):
                    yield _probabilities(loss, before, logarithm=node.name == "LogSoftmax")
                    return
    for call in record.loss_calls:
        probable = call.rows_sum_to_one and call.input_low >= 0 and len(call.values) >= 3
        if call.training and call.kind == "kl_div" and call.input_low >= 0 and len(call.values) >= 3:
            yield _shares(record, call)
            return
        if call.training and call.kind == "cross_entropy" and call.targets and probable:
            end = record.main.end if record.main else math.nan
            yield Case(
                ("error", 0.98), at("loss", call.site), what="probabilities", end=end, **_floor(call.input_shape)
            )
            return


def _shares(record: Record, call: LossCall) -> Case:
    """Logarithms of probabilities are never positive; what is never negative are probabilities."""
    return Case(
        ("error", 0.96),
        at("loss", call.site),
        series=call.values,
        evidence=(
            "kl_div is given what is never negative: probabilities, not their logarithms. Its value is no divergence, "
            "and went from {start} to {end}."
        ),
        remedy="F.kl_div(F.log_softmax(logits, dim=1), target, reduction='batchmean')",
        start=call.values.first,
        end=call.values.tail(),
    )


def _probabilities(loss: Loss, node: Node, logarithm: bool) -> Case:
    other: dict[str, Any] = {
        "evidence": "nll_loss is given probabilities ({what}), not their logarithms; it ended at {end}.",
        "remedy": "F.log_softmax(logits, dim=1)  # instead of the softmax; or F.cross_entropy(logits, y)",
    }
    return Case(
        ("error", 0.98),
        node.module or _OUTPUT,
        at("loss", loss.site),
        series=loss.values,
        **({} if logarithm else other),
        what=node.name.lower(),
        end=loss.end,
        **_floor(node.shape),
    )


def _floor(shape: tuple[int, ...]) -> dict[str, Any]:
    """How low cross-entropy gets where the right class has 1 and the others 0."""
    classes = shape[1] if len(shape) > 1 else 2
    return {"classes": classes, "floor": math.log(math.e + classes - 1) - 1}


@Rule(
    slug="scores_in_nll_loss",
    title="a loss of log-probabilities is given scores",
    meaning="Scores may grow without end, and the loss falls with them: nothing makes wrong classes less probable.",
    evidence=(
        "nll_loss is given numbers whose exponentials do not sum to 1, and went from {start} to {end}: of "
        "probabilities it is never below zero."
    ),
    remedy="criterion = nn.CrossEntropyLoss()  # or return F.log_softmax(scores, dim=1)",
    topic="loss.cross_entropy",
)
def scores_in_nll_loss(record: Record) -> Iterator[Case]:
    for call in record.loss_calls:
        if not call.training or call.kind != "nll_loss" or not call.targets or call.logs_sum_to_one:
            continue
        if not call.rows_sum_to_one and len(call.values) >= 3 and call.values.tail() < 0:
            yield Case(
                ("error", 0.97),
                at("loss", call.site),
                series=call.values,
                start=call.values.first,
                end=call.values.tail(),
            )
            return


@Rule(
    slug="several_labels",
    title="labels that do not exclude each other go into a loss for one class",
    meaning="A softmax has one unit to give to all labels of an example: each of them takes from the others.",
    evidence=(
        "The targets of cross_entropy are zeros and ones, and {share:.0%} of their rows have several ones (up to "
        "{most:g}); a row that has none counts for nothing."
    ),
    remedy="criterion = nn.BCEWithLogitsLoss()  # each label for itself, predicted where its logit is above 0",
    topic="loss.binary_cross_entropy",
)
def several_labels(record: Record) -> Iterator[Case]:
    for call in record.loss_calls:
        targets = call.first_targets
        if not call.training or call.kind != "cross_entropy" or targets is None or not targets.is_floating_point():
            continue
        if targets.ndim < 2 or not bool(((targets == 0) | (targets == 1)).all()):
            continue
        ones = targets.sum(1)
        share = float((ones > 1).float().mean())
        if share > 0.1:
            yield Case(("error", 0.9), at("loss", call.site), series=call.values, share=share, most=float(ones.max()))
            return


@Rule(
    slug="sigmoid_before_bce_logits",
    title="a sigmoid stands before a loss that takes one itself",
    meaning="Of numbers between 0 and 1 the loss takes the sigmoid again: confident outputs cannot be expressed.",
    evidence=(
        "The input of binary cross-entropy with logits is a {kind}'s result, between 0 and 1: the loss of a positive "
        "cannot go below 0.31, that of a negative not below 0.69; it ended at {end}."
    ),
    remedy="criterion = nn.BCELoss()  # or drop the sigmoid and keep BCEWithLogitsLoss, which is more exact",
    topic="loss.binary_cross_entropy",
)
def sigmoid_before_bce_logits(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        for index, _ in graph.named("BinaryCrossEntropyWithLogits"):
            for _, node in sources(graph, index):
                if node.name in ("Sigmoid", "Softmax"):
                    place = node.module or _OUTPUT, at("loss", loss.site)
                    kind = node.name.lower()
                    yield Case(("error", 0.98), *place, series=loss.values, kind=kind, end=loss.end)
                    return


@Rule(
    slug="double_log",
    title="a logarithm is taken twice",
    meaning="The loss is that of the logarithm of a log-probability, which has no meaning and often no value.",
    evidence="{first} is followed by {second}; the loss began at {start} and ended at {end}.",
    remedy="loss = F.nll_loss(F.log_softmax(logits, dim=1), y)  # one logarithm; or F.cross_entropy(logits, y)",
)
def double_log(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        # Of a negative logarithm, or one with something added, there is a logarithm: then it must have done harm.
        harm = loss.not_finite is not None or stuck(record, loss)
        through = VIEWS | _BOUNDS | ({"Neg", "Add", "Sub"} if harm else set())
        for index, node in graph.named("Log", "LogSoftmax", "Log2", "Log10", "Log1P"):
            # Logarithms of probabilities may be normalised again: nothing changes.
            again = node.name == "LogSoftmax"
            for _, before in sources(graph, index, through):
                if before.name != "LogSoftmax" and (again or before.name not in ("Log", "LogSigmoid")):
                    continue
                yield Case(
                    ("note", 0.9) if again else ("error", 0.93),
                    node.module or before.module or "the loss",
                    at("loss", loss.site),
                    series=loss.values,
                    besides=" The second changes nothing here, but takes its time." if again else "",
                    first=before.name,
                    second=node.name,
                    **course(loss),
                )
                return


@Rule(
    slug="wrong_softmax_dim",
    title="a softmax runs along the wrong axis",
    meaning="Its outputs sum to 1 over the examples of a batch (or the queries), so that rows depend on each other.",
    evidence="The softmax of a tensor of shape {shape} runs along axis {axis}, of size {size}.",
    remedy="F.softmax(x, dim=-1)  # along the classes, or the keys",
    topic="activation.softmax",
)
def wrong_softmax_dim(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        for index, node in graph.named("Softmax", "LogSoftmax"):
            sure = _wrong_axis(record, graph, index)
            if sure:
                axis = (node.dim or 0) % len(node.shape)
                place = node.module or "a softmax", at("loss", loss.site)
                size = node.shape[axis]
                yield Case(("error", sure), *place, series=loss.values, shape=node.shape, axis=axis, size=size)
                return


def _wrong_axis(record: Record, graph: Graph, index: int) -> float:
    """How sure it is that a softmax should run along another axis."""
    dim, shape = graph.nodes[index].dim, graph.nodes[index].shape
    if dim is None or len(shape) < 2:
        return 0.0
    dim %= len(shape)
    calls = [j for j in record.loss_calls if j.training and j.targets and len(j.target_shape) == 1]
    if len(shape) == 2 and dim == 0:
        if shape[0] in {j.target_shape[0] for j in calls if j.input_shape == shape}:
            return 0.96
        if _likelihood(record, graph, index):
            return 0.9
    # Each example has a target, and its weights should not depend on the other examples, whichever axis has them.
    rows = {j.target_shape[0] for j in calls} & _rows(record)
    of_rows = [i for i, size in enumerate(shape) if size in rows]
    if of_rows == [dim] and not _assigned(graph, index):
        return 0.9
    # Attention: weights (…, queries, keys) are multiplied with values; they must sum to 1 over the keys. Shares of
    # clusters, which a layer gives along the last axis, are summed over the members.
    attention = dim != len(shape) - 1 or is_product(graph, index)
    return 0.9 if attention and summed_away(graph, index, dim) is False else 0.0


def _assigned(graph: Graph, index: int) -> bool:
    """Whether nothing of a batch is in a softmax: one of weights alone, such as a mixture of layers."""
    return all(node.name == "AccumulateGrad" for _, node in sources(graph, index, VIEWS | {"Mul", "Div"}))


def _rows(record: Record) -> set[int]:
    """How many rows the inputs of roots have; where time comes first, it is the second axis."""
    return {size for root in record.roots for inputs in root.inputs for size in inputs.shape[:2]}


def _likelihood(record: Record, graph: Graph, index: int) -> bool:
    """By hand: whether a layer's outputs for the rows of a batch become a softmax, a logarithm, and the loss."""
    node = graph.nodes[index]
    after = {graph.nodes[i].name for i in towards_loss(graph, index)}
    layer = all(before.name in ("Addmm", "Linear") for _, before in sources(graph, index))
    logarithm = node.name == "LogSoftmax" or "Log" in after
    of_rows = node.shape[1] > 1 and node.shape[0] in _rows(record)
    return layer and logarithm and of_rows and after <= _ONE_BY_ONE | _BOUNDS


@Rule(
    slug="wrong_loss_axis",
    title="the loss takes the wrong axis for the classes",
    meaning="Cross-entropy expects (batch, classes, …): of (batch, places, classes) it compares places, not classes.",
    evidence=(
        "The logits have shape {shape}: the last axis ({last}) comes from a linear layer, but the softmax runs along "
        "axis 1 ({second})."
    ),
    remedy="loss = criterion(logits.transpose(1, 2), target)  # (batch, classes, places)",
    topic="loss.cross_entropy",
)
def wrong_loss_axis(record: Record) -> Iterator[Case]:
    """A linear layer gives classes along its last axis; what normalises along axis 1 must have been transposed."""
    for loss, graph in first_graphs(record):
        for index, _ in graph.named(*_CLASS_LOSSES):
            for inner, before in sources(graph, index):
                shape = before.shape
                if before.name != "LogSoftmax" or len(shape) < 3 or before.dim not in (1, 1 - len(shape)):
                    continue
                chain = [graph.nodes[i] for i in _unmoved(graph, inner)]
                layers = [n for n in chain if n.name in ("Addmm", "Mm", "UnsafeView", "_UnsafeView")]
                # A layer may also give classes for several questions at once, one after the other in one row.
                rows = [n.shape[0] for n in layers if n.name in ("Addmm", "Mm") and n.shape]
                if layers and shape[0] not in rows:
                    place, series = at("loss", loss.site), loss.values
                    yield Case(("error", 0.95), place, series=series, shape=shape, last=shape[-1], second=shape[1])
                    return


def _unmoved(graph: Graph, index: int) -> Iterator[int]:
    """The nodes before a node, as far as no axis was moved: views that split or join rows only."""
    inputs = graph.nodes[index].inputs
    while len(inputs) >= 1:
        node = graph.nodes[inputs[0]]
        yield inputs[0]
        if node.name not in ("View", "Reshape", "ReshapeAlias", "UnsafeView", "_UnsafeView", "Add", "Clone"):
            return
        inputs = node.inputs


@Rule(
    slug="target_broadcast",
    title="predictions and targets are broadcast against each other",
    meaning="Every prediction is compared with every target: the model learns their mean, whatever the input.",
    evidence="Predictions of shape {predictions} meet targets of shape {targets}, which makes {differences}.",
)
def target_broadcast(record: Record) -> Iterator[Case]:
    for call in record.loss_calls:
        if not call.training or call.kind not in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            continue
        x, y = call.input_shape, call.target_shape
        if x != y and x and y and math.prod(x) == math.prod(y) and _stretched(x, y):
            times = f"{max(x[0], y[0])} times as many differences as there are targets"
            yield _broadcast(0.98, call.site, x, y, times)
            return
    for loss, graph in first_graphs(record):
        for index, node in graph.named("Sub", "Rsub", "Expand", "Mul"):
            if _every_with_every(graph, index, poor(record, MOST)):
                x = graph.nodes[node.inputs[0]].shape
                if node.name == "Mul":
                    yield _weighed(loss.site, x, node)
                    return
                yield _broadcast(0.95, loss.site, x, (x[0],) if len(x) == 2 else (x[0], 1), str(node.shape))
                return


def _broadcast(sure: float, site: Site | None, x: tuple[int, ...], y: tuple[int, ...], differences: str) -> Case:
    remedy = "target = target.view_as(prediction)"
    if len(x) > len(y):
        remedy = "loss = F.mse_loss(prediction.squeeze(-1), target)  # both (N,)"
    place = at("loss", site)
    return Case(("error", sure), place, remedy=remedy, predictions=x, targets=y, differences=differences)


def _weighed(site: Site | None, x: tuple[int, ...], node: Node) -> Case:
    """Logarithms of probabilities, each times the weights of all rows: advantages, returns, gains."""
    return Case(
        ("error", 0.95),
        at("loss", site),
        evidence=(
            "Log-probabilities of shape {predictions} are multiplied by weights of shape {targets}, which makes "
            "{differences}: each counts with the weights of all rows, not with its own."
        ),
        remedy="advantage = returns - values.squeeze(-1)  # (N,), as the log-probabilities are; never (N, 1) with (N,)",
        predictions=x,
        targets=node.other or (),
        differences=str(node.shape),
    )


def _stretched(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    """Whether two shapes together are larger than each."""
    together = (max(a, b) for a, b in zip_longest(reversed(x), reversed(y), fillvalue=1))
    return math.prod(together) > max(math.prod(x), math.prod(y))


def _every_with_every(graph: Graph, index: int, failed: bool) -> bool:
    """Whether a node makes (N, N) of the model's N numbers and of N targets, on the straight way to the loss: through
    what losses are made of or, where the training has `failed`, through anything that goes number by number."""
    node = graph.nodes[index]
    if len(node.shape) != 2 or len(node.inputs) != 1 or not node.shape[0] == node.shape[1] > 1:
        return False
    before, rows = graph.nodes[node.inputs[0]], node.shape[0]
    if math.prod(before.shape) != rows or not any(graph.nodes[i].parameter for i in graph.above(index)):
        return False
    after = [graph.nodes[i] for i in towards_loss(graph, index)]
    if node.name == "Expand":  # in one of torch's losses
        return bool(after) and all(n.name in _LOSSES | _ONE_BY_ONE for n in after) and after[0].name != "Mul"
    if node.name == "Mul":
        # How well each went, as one number for each row; or already one for all pairs, by a difference before.
        weighed = node.other is not None and math.prod(node.other) in (rows, rows * rows)
        if not weighed or not _logarithm(graph, index):
            return False
    pairs = any(n.shape == node.shape and _pairs(graph, n) for n in graph.nodes)
    straight = all(n.name in _RESIDUAL or (failed and n.shape in (node.shape, ())) for n in after)
    return before.name != "Unsqueeze" and not pairs and straight


def _pairs(graph: Graph, node: Node) -> bool:
    """Whether all pairs are meant: of two tensors of the model's that are both smaller, or with a weight for each."""
    if node.name == "Mul" and node.other == node.shape == graph.nodes[node.inputs[0]].shape:
        return True
    both = node.name in ("Sub", "Add") and len(node.inputs) == 2
    return both and all(graph.nodes[i].shape != node.shape for i in node.inputs)


def _logarithm(graph: Graph, index: int) -> bool:
    through = VIEWS | _BOUNDS | {"Neg", "Sub"}
    logarithms = ("Log", "LogSigmoid", "Log1P", "LogSoftmax", "Logsumexp")
    return any(node.name in logarithms for _, node in sources(graph, index, through))
