"""Losses that a script writes out itself: what was predicted and what should have been, read off the loss's graph.

A graph keeps what its backward pass will need, and that tells: `((p - y) ** 2).mean()` keeps p - y, and
`-log_p[rows, y].mean()` keeps y.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gradlab.diagnosis.watching.graph import saved, short, signed

_PLAIN = ("Mean", "Sum", "Neg", "Div", "View", "UnsafeView", "Squeeze", "Unsqueeze", "Reshape", "Select", "Index")
"""Between a loss and its terms: no factor that would weigh one example more than another, as a policy's return does."""
_VIEWS = ("View", "UnsafeView", "Squeeze", "Unsqueeze", "Reshape", "Select", "Slice", "T", "Transpose", "Alias")
_TORCH = {
    "MseLoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "NllLoss": "nll_loss",
    "NllLoss2D": "nll_loss",
    "BinaryCrossEntropy": "binary_cross_entropy",
    "BinaryCrossEntropyWithLogits": "binary_cross_entropy_with_logits",
}
_DEEP = 12


class Pair(NamedTuple):
    """What one of torch's own functions would have been given."""

    kind: str
    predicted: Tensor
    target: Tensor
    places: tuple[int, ...] = ()
    """The shape that the targets had, where they were of sequences and are now in one row."""


def pairs(loss: Tensor, outputs: Mapping[Any, Tensor]) -> Iterator[Pair]:
    """Each term that has a known form. `outputs`: those of roots, by the node that made them."""
    if loss.grad_fn is None:
        return
    terms = list(_terms(loss.grad_fn, outputs))
    names = {short(node) for node, _ in terms}
    binary = False
    for node, plain in terms:
        name = short(node)
        pair: Pair | None = None
        if name in _TORCH:
            pair = _told(node, name, outputs)
        elif name in ("Pow", "Abs") or (name == "Mul" and _squared(node)):
            pair = _difference(node, name, outputs)
        elif name in ("Gather", "Index") and plain:
            pair = _chosen(node, name, outputs, "Logsumexp" in names)
        elif name == "Mul" and plain:
            pair = _weighed(node, outputs, "Softplus" in names)
        if pair is not None and pair.predicted.numel() > 1 and not (binary and "binary" in pair.kind):
            binary = binary or "binary" in pair.kind  # its other half says the same of 1 - y
            yield pair


def _terms(loss: Any, outputs: Mapping[Any, Tensor]) -> Iterator[tuple[Any, bool]]:
    """The operations between a loss and what roots gave, with whether only plain ones come after them."""
    waiting, known = [(loss, True, 0)], {loss}
    while waiting:
        node, plain, depth = waiting.pop(0)
        yield node, plain
        if node in outputs or depth >= _DEEP:
            continue
        name = short(node)
        sources = [source for source, _ in node.next_functions if source is not None]
        scaled = name == "Mul" and len(sources) == 1 and _scalar(saved(node, "_saved_other"))
        on = plain and (name in _PLAIN or name in ("Add", "Sub", "Rsub") or scaled)
        for source in sources:
            if source not in known and not hasattr(source, "variable"):
                known.add(source)
                waiting.append((source, on, depth + 1))


def _told(node: Any, name: str, outputs: Mapping[Any, Tensor]) -> Pair | None:
    """A function of torch's that was not seen when it was called: imported by its name before the doctor came."""
    predicted, target = saved(node, "_saved_self"), saved(node, "_saved_target")
    if predicted is None or target is None:
        return None
    kind, source = _TORCH[name], node.next_functions[0][0]
    if kind == "nll_loss" and source is not None and short(source) == "LogSoftmax":
        logits = _output(source.next_functions[0][0], outputs)
        if logits is not None and logits.shape == predicted.shape:
            return Pair("cross_entropy", logits, target.detach())
    return Pair(kind, predicted.detach(), target.detach())


def _difference(node: Any, name: str, outputs: Mapping[Any, Tensor]) -> Pair | None:
    """(p - y)² or |p - y|."""
    error = saved(node, "_saved_self")
    if error is None or (name == "Pow" and float(getattr(node, "_saved_exponent", 0)) != 2):
        return None
    below = node.next_functions[0][0]
    if below is None or short(below) != "Sub":
        return None
    (one, _), (other, _) = below.next_functions
    if (one is None) == (other is None):
        return None
    predicted = _output(one or other, outputs)
    if predicted is None or predicted.shape != error.shape:  # that of a broadcast is told elsewhere
        return None
    target = predicted - error.detach() if other is None else predicted + error.detach()
    return Pair("l1_loss" if name == "Abs" else "mse_loss", predicted, target)


def _chosen(node: Any, name: str, outputs: Mapping[Any, Tensor], normed: bool) -> Pair | None:
    """The logarithms of the right classes' probabilities: log_p[rows, y], or log_p.gather(1, y[:, None]); or the right
    classes' logits, beside their logsumexp (`normed`)."""
    try:
        kept = node._saved_index if name == "Gather" else [i for i in node._saved_indices if i is not None][-1]
    except (AttributeError, IndexError, RuntimeError):
        return None
    if not isinstance(kept, Tensor) or kept.dtype != torch.int64:
        return None
    target = kept.reshape(-1)
    source = node.next_functions[0][0]
    logits = _output(source, outputs) if normed else None
    scores = _scores(source, outputs) if logits is None else ("cross_entropy", logits)
    if scores is None or scores[1].ndim < 2:
        return None
    rows = scores[1].flatten(0, -2)
    places = tuple(scores[1].shape[:-1])
    return Pair(scores[0], rows, target, places) if len(rows) == len(target) else None


def _weighed(node: Any, outputs: Mapping[Any, Tensor], soft: bool) -> Pair | None:
    """y · log p with one row of y for each example; or y · z beside softplus(z) (`soft`)."""
    (one, _), (other, _) = node.next_functions
    if (one is None) == (other is None):
        return None
    target = saved(node, "_saved_self" if one is None else "_saved_other")
    if target is None or target.numel() < 2 or not target.is_floating_point():
        return None
    target = target.detach()
    low, high = torch.aminmax(target)
    if low < 0 or high > 1:
        return None
    source = one or other
    scores = _scores(source, outputs)
    if scores is not None and scores[1].ndim == 2 and scores[1].shape == target.shape and target.shape[1] > 1:
        return Pair(*scores, target.argmax(1)) if bool(((target.sum(1) - 1).abs() < 1e-4).all()) else None
    predicted = _output(source, outputs) if soft else None
    if predicted is not None and predicted.shape == target.shape and bool(((target == 0) | (target == 1)).all()):
        return Pair("binary_cross_entropy_with_logits", predicted, target)
    if short(source) == "Log":
        values = saved(source, "_saved_self")
        if values is not None and values.shape == target.shape and 0 <= values.min() <= values.max() <= 1:
            return Pair("binary_cross_entropy", values.detach(), target)
    return None


def _scores(node: Any, outputs: Mapping[Any, Tensor]) -> tuple[str, Tensor] | None:
    """What a node has of classes, and the function that would take it."""
    if node is None:
        return None
    output = _output(node, outputs)
    if output is not None:
        below = output.ndim > 1 and bool((output.exp().sum(-1) - 1).abs().max() < 1e-3)
        return ("nll_loss", output) if below else None
    name = short(node)
    if name == "LogSoftmax":
        logits = _output(node.next_functions[0][0], outputs)
        result = saved(node, "_saved_result")
        if logits is not None and result is not None and logits.shape == result.shape:
            return "cross_entropy", logits
        return None if result is None else ("nll_loss", result.detach())
    if name == "Log":
        values = saved(node, "_saved_self")
        return None if values is None else ("nll_loss", values.detach().log())
    return None


def _output(node: Any, outputs: Mapping[Any, Tensor]) -> Tensor | None:
    """A root's output, or the view of one that a node makes."""
    if node is None or node in outputs:
        return outputs.get(node)
    name = short(node)
    if name not in _VIEWS:
        return None
    base = _output(node.next_functions[0][0], outputs)
    if base is None:
        return None
    if name == "Select":
        return base.select(signed(node._saved_dim), signed(node._saved_index))
    if name == "Slice":
        start, end = signed(node._saved_start), min(signed(node._saved_end), base.shape[signed(node._saved_dim)])
        return base.movedim(signed(node._saved_dim), 0)[start : end : node._saved_step].movedim(
            0, signed(node._saved_dim)
        )
    if name in ("T", "Transpose"):
        return base.t() if name == "T" else base.transpose(signed(node._saved_dim0), signed(node._saved_dim1))
    return base.reshape(tuple(node._input_metadata[0].shape))


def _squared(node: Any) -> bool:
    one, other = saved(node, "_saved_self"), saved(node, "_saved_other")
    return one is not None and other is not None and one.data_ptr() == other.data_ptr() and one.shape == other.shape


def _scalar(factor: Tensor | None) -> bool:
    return factor is None or factor.numel() == 1
