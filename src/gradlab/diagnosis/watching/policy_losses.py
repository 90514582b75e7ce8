"""What a loss of a policy is made of, read off its graph: log-probabilities of actions, and ratios of probabilities."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gradlab.diagnosis.watching.graph import saved, short

_MOVES = frozenset(
    {
        *("View", "UnsafeView", "Reshape", "ReshapeAlias", "Squeeze", "Unsqueeze", "Expand", "Permute", "Transpose"),
        *("T", "Clone", "Copy", "ToCopy", "Alias", "Slice", "Select", "Index", "IndexSelect", "Cat", "Stack", "Unbind"),
    }
)
_TO_SCORE = _MOVES | {
    "Neg",
    "Exp",
    "Clamp",
    "ClampMin",
    "ClampMax",
    "Sub",
    "Sum",
    "Mul",
    "Div",
    "Add",
    "Minimum",
    "Mean",
}
"""From a product with how good an action was back to its log-probability, or to the ratio of two probabilities."""
_TO_LOGS = _MOVES | {"Sub", "Clamp", "Div"}


def log_probabilities(operations: list[Any]) -> list[tuple[Any, Tensor]]:
    """Log-probabilities that were picked and are weighed by what the action brought: their nodes, and the actions."""
    everywhere: dict[Any, Tensor] = {}
    factors: list[Tensor] = []
    weighed = False
    for node in operations:
        if short(node) != "Mul":
            continue
        sides = [source for source, _ in node.next_functions]
        picked = {one: index for side in sides if side is not None for one, index in _picked(side)}
        if not picked:
            continue
        everywhere |= picked
        if None in sides:
            factor = saved(node, "_saved_other" if sides[1] is None else "_saved_self")
            if factor is not None and factor.numel():
                factors.append(factor.detach().reshape(-1)[:64].float())
        else:
            weighed = True
    if factors and not weighed:
        values = torch.cat([f.cpu() for f in factors])
        weighed = bool(values.amin() < values.amax()) and not bool(((values == 0) | (values == 1)).all())
    return list(everywhere.items()) if weighed else []


def _picked(node: Any) -> Iterator[tuple[Any, Tensor]]:
    """Entries of normalised logarithms, one for each row."""
    waiting, known = [node], {node}
    while waiting and len(known) < 5000:
        one = waiting.pop()
        name = short(one)
        index = _index(one, name)
        if index is not None:
            if _normalised(one.next_functions[0][0]):
                yield one, index
            continue
        if name in _TO_SCORE:
            new = [s for s, _ in one.next_functions if s is not None and s not in known]
            known.update(new)
            waiting += new


def _index(node: Any, name: str) -> Tensor | None:
    try:
        if name == "Gather":
            return node._saved_index if node._saved_index.shape[-1:] in ((1,), ()) else None
        if name == "Index":
            indices = [i for i in node._saved_indices if i is not None]
            return indices[-1] if len(indices) > 1 and indices[-1].dtype == torch.int64 else None
    except (AttributeError, RuntimeError):
        return None
    return None


def _normalised(node: Any) -> bool:
    waiting, known = [node], {node}
    while waiting and len(known) < 30:
        one = waiting.pop()
        if one is None:
            continue
        name = short(one)
        if name in ("LogSoftmax", "Logsumexp", "Log"):
            return True
        if name in _TO_LOGS:
            new = [s for s, _ in one.next_functions if s is not None and s not in known]
            known.update(new)
            waiting += new
    return False


def clipped_ratios(operations: list[Any]) -> Iterator[Tensor]:
    """Exponentials that are clipped to a range around 1."""
    for node in operations:
        if short(node) != "Clamp":
            continue
        source = node.next_functions[0][0]
        low, high = getattr(node, "_saved_min", None), getattr(node, "_saved_max", None)
        if source is None or short(source) != "Exp" or low is None or high is None or not 0 < low < 1 < high < 3:
            continue
        result = saved(source, "_saved_result")
        if result is not None and result.numel():
            yield result
