"""Losses that are not what they look like: a softmax too many, a wrong axis, shapes that broadcast."""

import math
from collections.abc import Iterator
from itertools import zip_longest

from gradlab.diagnosis.progress import poor, stuck
from gradlab.diagnosis.record import Graph, Loss, Node, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.diagnosis.rules.chains import VIEWS, sources, summed_away, towards_loss
from gradlab.wording import number

_CLASS_LOSSES = ("NllLoss", "NllLoss2D", "NllLossNd")
_LOSSES = {"MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss"}
_BOUNDS = {"Clamp", "ClampMin", "ClampMax", "Abs"}
_ONE_BY_ONE = VIEWS | {"Mul", "Div", "Neg", "Add", "Sub", "Rsub", "Mean", "Sum", "Log"}
"""What may stand between an output and the loss without any two of its numbers being compared."""
_RESIDUAL = _ONE_BY_ONE | {"Pow", "Square", "Abs", "Sqrt", "Cosh", "Where", "Maximum"}


def _graphs(record: Record) -> Iterator[tuple[Loss, Graph]]:
    for loss in record.losses:
        for graph in loss.graphs[:1]:
            yield loss, graph


def _trained_graphs(record: Record) -> Iterator[tuple[Loss, Graph]]:
    """With the last one too: what holds must hold in both."""
    for loss in record.losses:
        for graph in filter(None, (loss.graphs[0] if loss.graphs else None, loss.last_graph)):
            yield loss, graph


@rule(
    "softmax_before_ce",
    title="probabilities go into a loss that wants logits",
    meaning=(
        "Cross-entropy takes the softmax itself: of numbers between 0 and 1 it can never get near zero, and "
        "gradients shrink."
    ),
    topic="loss.cross_entropy",
)
def softmax_before_ce(record: Record) -> Iterator[Seen]:
    """LogSoftmax from Softmax (or Sigmoid), NllLoss from Softmax, or inputs of cross_entropy that sum to 1."""
    for loss, graph in _graphs(record):
        for index, node in graph.named("LogSoftmax", *_CLASS_LOSSES):
            for _, before in sources(graph, index):
                if before.name == "Softmax" or (before.name == "Sigmoid" and node.name == "LogSoftmax"):
                    where = before.module or "the model's output"
                    shape = before.shape
                    yield _twice(record, loss, before.name.lower(), where, shape, logarithm=node.name == "LogSoftmax")
                    return
    for judged in record.judged:
        probable = judged.rows_sum_to_one and judged.input_low >= 0 and len(judged.input_mean) >= 3
        if judged.training and judged.kind == "cross_entropy" and judged.targets and probable:
            yield _twice(record, None, "probabilities", str(judged.site), judged.input_shape)
            return


def _twice(
    record: Record, loss: Loss | None, what: str, where: str, shape: tuple[int, ...], logarithm: bool = True
) -> Seen:
    classes = shape[1] if len(shape) > 1 else 2
    floor = math.log(math.e + classes - 1) - 1
    site = loss.site if loss else where
    end = loss.end if loss else record.main.end if record.main else math.nan
    evidence = (
        f"The input of cross-entropy already lies between 0 and 1 ({what}): with {classes} classes the loss cannot go "
        f"below {floor:.2f}; it ended at {number(end)}."
    )
    fix = "return logits  # drop the softmax from the model; take it only to show probabilities"
    if not logarithm:
        evidence = f"nll_loss is given probabilities ({what}), not their logarithms; it ended at {number(end)}."
        fix = "F.log_softmax(logits, dim=1)  # instead of the softmax; or F.cross_entropy(logits, y)"
    return Seen(
        severity="error",
        confidence=0.98,
        where=f"{where}; loss at {site}",
        since=0,
        evidence=evidence,
        fix=fix,
        series=loss.values if loss else None,
    )


@rule(
    "sigmoid_before_bce_logits",
    title="a sigmoid stands before a loss that takes one itself",
    meaning="Of numbers between 0 and 1 the loss takes the sigmoid again: confident outputs cannot be expressed.",
    topic="loss.binary_cross_entropy",
)
def sigmoid_before_bce_logits(record: Record) -> Iterator[Seen]:
    for loss, graph in _graphs(record):
        for index, _ in graph.named("BinaryCrossEntropyWithLogits"):
            for _, node in sources(graph, index):
                if node.name == "Sigmoid":
                    yield Seen(
                        severity="error",
                        confidence=0.98,
                        where=f"{node.module or 'the model’s output'}; loss at {loss.site}",
                        since=0,
                        evidence=(
                            "The input of binary cross-entropy with logits is a sigmoid's result, between 0 and 1: "
                            "the loss of a positive "
                            f"cannot go below 0.31, that of a negative not below 0.69; it ended at {number(loss.end)}."
                        ),
                        fix=(
                            "criterion = nn.BCELoss()  # or drop the sigmoid and keep BCEWithLogitsLoss, which is "
                            "more exact"
                        ),
                        series=loss.values,
                    )
                    return


@rule(
    "double_log",
    title="a logarithm is taken twice",
    meaning="The loss is that of the logarithm of a log-probability, which has no meaning and often no value.",
)
def double_log(record: Record) -> Iterator[Seen]:
    for loss, graph in _graphs(record):
        for index, node in graph.named("Log", "LogSoftmax", "Log2", "Log10", "Log1P"):
            # Of a negative logarithm, or one with something added, there is a logarithm: then it must have done harm.
            harm = loss.not_finite is not None or stuck(record, loss)
            through = VIEWS | _BOUNDS | ({"Neg", "Add", "Sub"} if harm else set())
            for _, before in sources(graph, index, through):
                if before.name not in ("LogSoftmax", "Log", "LogSigmoid"):
                    continue
                # Logarithms of probabilities may be normalised again: nothing changes.
                harmless = node.name == "LogSoftmax"
                if harmless and before.name != "LogSoftmax":
                    continue
                yield Seen(
                    severity="note" if harmless else "error",
                    confidence=0.9 if harmless else 0.93,
                    where=f"{node.module or before.module or 'the loss'}; loss at {loss.site}",
                    since=0,
                    evidence=(
                        f"{before.name} is followed by {node.name}; the loss began at {number(loss.start)} and "
                        f"ended at {number(loss.end)}."
                        + (" The second changes nothing here, but takes its time." if harmless else "")
                    ),
                    fix=(
                        "loss = F.nll_loss(F.log_softmax(logits, dim=1), y)  # one logarithm; or "
                        "F.cross_entropy(logits, y)"
                    ),
                    series=loss.values,
                )
                return


@rule(
    "wrong_softmax_dim",
    title="a softmax runs along the wrong axis",
    meaning="Its outputs sum to 1 over the examples of a batch (or the queries), so that rows depend on each other.",
    topic="activation.softmax",
)
def wrong_softmax_dim(record: Record) -> Iterator[Seen]:
    judged = [j for j in record.judged if j.training and j.targets and len(j.target_shape) == 1]
    for loss, graph in _graphs(record):
        for index, node in graph.named("Softmax", "LogSoftmax"):
            dim, shape = node.dim, node.shape
            if dim is None or len(shape) < 2:
                continue
            dim %= len(shape)
            batch = {j.target_shape[0] for j in judged if j.input_shape == shape}
            if len(shape) == 2 and dim == 0 and shape[0] in batch:
                yield _axis(loss, node.module, dim, shape, 0.96)
                return
            if len(shape) == 2 and dim == 0 and _likelihood(record, graph, index):
                yield _axis(loss, node.module, dim, shape, 0.9)
                return
            # Of more axes: each example has a target, and its weights should not depend on the other examples.
            rows = {j.target_shape[0] for j in judged}
            given = {inputs.shape[0] for root in record.roots for inputs in root.inputs if inputs.shape}
            if len(shape) > 2 and dim == 0 and shape[0] in rows & given and shape[0] not in shape[1:]:
                yield _axis(loss, node.module, dim, shape, 0.9)
                return
            # Attention: weights (…, queries, keys) are multiplied with values; they must sum to 1 over the keys.
            if dim != len(shape) - 1 and summed_away(graph, index, dim) is False:
                yield _axis(loss, node.module, dim, shape, 0.9)
                return


def _likelihood(record: Record, graph: Graph, index: int) -> bool:
    """By hand: whether a layer's outputs for the rows of a batch become a softmax, a logarithm, and the loss."""
    node = graph.nodes[index]
    rows = {inputs.shape[0] for root in record.roots for inputs in root.inputs if inputs.shape}
    after = {graph.nodes[i].name for i in towards_loss(graph, index)}
    layer = all(before.name in ("Addmm", "Linear") for _, before in sources(graph, index))
    logarithm = node.name == "LogSoftmax" or "Log" in after
    return layer and logarithm and node.shape[1] > 1 and node.shape[0] in rows and after <= _ONE_BY_ONE | _BOUNDS


def _axis(loss: Loss, module: str | None, dim: int, shape: tuple[int, ...], sure: float) -> Seen:
    return Seen(
        severity="error",
        confidence=sure,
        where=f"{module or 'a softmax'}; loss at {loss.site}",
        since=0,
        evidence=f"The softmax of a tensor of shape {shape} runs along axis {dim}, of size {shape[dim]}.",
        fix="F.softmax(x, dim=-1)  # along the classes, or the keys",
        series=loss.values,
    )


@rule(
    "wrong_loss_axis",
    title="the loss takes the wrong axis for the classes",
    meaning="Cross-entropy expects (batch, classes, …): of (batch, places, classes) it compares places, not classes.",
    topic="loss.cross_entropy",
)
def wrong_loss_axis(record: Record) -> Iterator[Seen]:
    """A linear layer gives classes along its last axis; what normalises along axis 1 must have been transposed."""
    for loss, graph in _graphs(record):
        for index, _ in graph.named(*_CLASS_LOSSES):
            for inner, before in sources(graph, index):
                if before.name != "LogSoftmax" or len(before.shape) < 3 or before.dim not in (1, 1 - len(before.shape)):
                    continue
                chain = [graph.nodes[i] for i in _unmoved(graph, inner)]
                # A layer may also give classes for several questions at once, one after the other in one row.
                rows = [n.shape[0] for n in chain if n.name in ("Addmm", "Mm") and n.shape]
                if any(n.name in ("Addmm", "Mm", "UnsafeView", "_UnsafeView") for n in chain) and (
                    before.shape[0] not in rows
                ):
                    yield Seen(
                        severity="error",
                        confidence=0.95,
                        where=f"loss at {loss.site}",
                        since=0,
                        evidence=(
                            f"The logits have shape {before.shape}: the last axis ({before.shape[-1]}) comes from a "
                            "linear layer, but the softmax "
                            f"runs along axis 1 ({before.shape[1]})."
                        ),
                        fix="loss = criterion(logits.transpose(1, 2), target)  # (batch, classes, places)",
                        series=loss.values,
                    )
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


@rule(
    "target_broadcast",
    title="predictions and targets are broadcast against each other",
    meaning="Every prediction is compared with every target: the model learns their mean, whatever the input.",
)
def target_broadcast(record: Record) -> Iterator[Seen]:
    for judged in record.judged:
        if not judged.training or judged.kind not in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            continue
        x, y = judged.input_shape, judged.target_shape
        if x != y and x and y and math.prod(x) == math.prod(y) and _stretched(x, y):
            yield _broadcast(str(judged.site), x, y, 0.98)
            return
    for loss, graph in _graphs(record):
        for index, node in graph.named("Sub", "Rsub", "Expand", "Mul"):
            if _every_with_every(graph, index, poor(record, 0.8)):
                x = graph.nodes[node.inputs[0]].shape
                y = (len(x) == 2 and (x[0],)) or (x[0], 1)
                yield _broadcast(str(loss.site), x, y, 0.95, node.shape)
                return


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
    if node.name == "Mul" and (node.other is None or math.prod(node.other) != rows or not _logarithm(graph, index)):
        return False
    pairs = any(n.shape == node.shape and _pairs(graph, n) for n in graph.nodes)
    straight = all(n.name in _RESIDUAL or (failed and n.shape in (node.shape, ())) for n in after)
    return before.name != "Unsqueeze" and not pairs and straight


def _pairs(graph: Graph, node: Node) -> bool:
    """Whether all pairs are meant: of two tensors of the model's that are both smaller, or with a weight for each."""
    if node.name == "Mul" and node.other == node.shape:
        return True
    both = node.name in ("Sub", "Add") and len(node.inputs) == 2
    return both and all(graph.nodes[i].shape != node.shape for i in node.inputs)


def _logarithm(graph: Graph, index: int) -> bool:
    through = VIEWS | _BOUNDS | {"Neg"}
    return any(node.name in ("Log", "LogSigmoid", "Log1P") for _, node in sources(graph, index, through))


def _broadcast(
    where: str, x: tuple[int, ...], y: tuple[int, ...], sure: float, result: tuple[int, ...] | None = None
) -> Seen:
    made = (
        f", which makes {result}"
        if result
        else f", which makes {max(x[0], y[0])} times as many differences as there are targets"
    )
    return Seen(
        severity="error",
        confidence=sure,
        where=where,
        since=0,
        evidence=f"Predictions of shape {x} meet targets of shape {y}{made}.",
        fix="loss = F.mse_loss(prediction.squeeze(-1), target)  # both (N,)"
        if len(x) > len(y)
        else "target = target.view_as(prediction)",
    )
