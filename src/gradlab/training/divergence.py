"""The origin of a loss or a gradient that is not finite: the data, a parameter, a module, the loss, or a gradient."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from gradlab import parallel
from gradlab.data import Batch
from gradlab.tasks import Task
from gradlab.tasks.objective import named

_LOOK = "Look for a logarithm or a root of 0 or less, a division by 0, or an overflow"


@dataclass(frozen=True)
class Divergence:
    """Where numbers stopped being finite, and what to do about it.

    `by_data` says that the rate cannot be the reason; without advice, nothing was found at the weights as they are.
    """

    reason: str
    advice: str = ""
    by_data: bool = False


def explain_divergence(model: nn.Module, task: Task, called: Any, batch: Batch) -> Divergence:
    """Find the first thing, in the order of the forward and the backward pass, that is not finite on a batch.

    `called` is the model, or what stands for it: a carried state is that before the bad step, which left it alone.
    """
    seen = _Forward()
    with seen.watching(model):
        computed = [named(one.loss(called, batch), name) for name, one in task.objectives().items()]
    totals = {name: total for losses in computed for name, (total, _) in losses.items()}
    origins = [
        one for one in (_forward_origin(model, batch, seen), _loss_origin(batch, seen, totals)) if one is not None
    ]
    return (
        _first_origin(origins[:1])
        or _first_origin(_backward_origins(model, totals))
        or Divergence("the norm of the gradient is not finite")
    )


class _Forward:
    """What a forward pass shows: the first module whose output is not finite, its inputs, and the last output."""

    def __init__(self) -> None:
        self.first: tuple[str, Any] | None = None
        self.output: Any = None

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        handles = [
            module.register_forward_hook(self._hook(f"{name or 'the model'} ({type(module).__name__})"))
            for name, module in model.named_modules()
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _hook(self, name: str) -> Any:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            self.output = output
            if self.first is None and not _is_finite(output):
                self.first = name, inputs

        return hook


def _forward_origin(model: nn.Module, batch: Batch, seen: _Forward) -> Divergence | None:
    if seen.first is None:
        return None
    bad = [name for name, p in model.named_parameters() if not _is_finite(p)]
    if bad:
        return Divergence(f"the parameter {bad[0]} is not finite", "Initialise it with other values.")
    name, inputs = seen.first
    if not _is_finite(inputs):
        for part, values in batch.items():
            if place := _place(values):
                return Divergence(f"{part!r} of the batch has {place}", _DATA, by_data=True)
    where = f"; its inputs range {_range(inputs)}" if _range(inputs) else ""
    return Divergence(f"the output of {name} is the first that is not finite{where}", f"{_LOOK} in it.")


def _loss_origin(batch: Batch, seen: _Forward, totals: dict[str, Tensor]) -> Divergence | None:
    for name, total in totals.items():
        if total.isfinite():
            continue
        for part, values in batch.items():
            if part != "inputs" and (place := _place(values)):
                return Divergence(f"{part!r} of the batch has {place}", _DATA, by_data=True)
        which = "the loss" if name == "loss" else f"the loss {name!r}"
        ranges = {"the last output": _range(seen.output), "the targets": _range(batch.get("targets"))}
        known = " and ".join(f"{what} ranges {between}" for what, between in ranges.items() if between)
        return Divergence(
            f"{which} is {total.item()} though every module's output is finite" + f"; {known}" * bool(known),
            f"{_LOOK} in the loss.",
        )
    return None


def _backward_origins(model: nn.Module, totals: dict[str, Tensor]) -> list[Divergence]:
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    whole = torch.stack([total.double() for total in totals.values()]).sum()
    gradients = torch.autograd.grad(whole, [p for _, p in trained], allow_unused=True)
    bad = [n for (n, _), g in zip(trained, gradients, strict=True) if g is not None and not g.isfinite().all()]
    return [
        Divergence(
            f"the gradient of {name} is the first, from the loss backwards, that is not finite",
            "Look for a root or a norm at 0, whose slope is infinite, or an overflow.",
        )
        for name in bad[-1:]
    ]


_DATA = "Remove those examples, or put numbers in their place."


def _tensors(values: Any) -> list[Tensor]:
    leaves = pytree.tree_leaves(values)
    return [leaf.detach() for leaf in leaves if isinstance(leaf, Tensor) and leaf.is_floating_point() and leaf.numel()]


def _is_finite(values: Any) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in _tensors(values))


def _range(values: Any) -> str:
    """The least and the largest finite number."""
    finite = [t[t.isfinite()] for t in _tensors(values)]
    some = [t for t in finite if t.numel()]
    if not some:
        return ""
    return f"from {min(t.min().item() for t in some):.4g} to {max(t.max().item() for t in some):.4g}"


def _place(values: Any) -> str:
    """The first number that is not finite, by row and column of its tensor."""
    for tensor in _tensors(values):
        for row, *column in (~tensor.isfinite()).nonzero()[:1].tolist() if tensor.ndim else ():
            value = tensor[(row, *column)].item()
            at = f", column {column[0] if len(column) == 1 else tuple(column)}" if column else ""
            return f"{value} in row {row}{at}, counted from 0"
    return ""


def _first_origin(origins: list[Divergence]) -> Divergence | None:
    """What was found first; of several processes, what the first of them that found something did."""
    found = parallel.every([list(astuple(one)) for one in origins])
    return next((Divergence(*several[0]) for several in found if several), None)
