"""From losses to gradients: the usual backward pass where somebody listens to it, a shorter way where nobody does."""

import sys
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

# What `loss.backward()` calls in the end. The Python around it (hooks, logging, making the seed) costs a fifth of the
# step of a small model, and neither gradients of several losses nor higher derivatives are wanted here.
_run_backward = torch.autograd.Variable._execution_engine.run_backward

Tensors = tuple[Tensor, ...]
Gradients = Sequence[Tensor | None]


def gradients(losses: Tensors, seeds: Tensors, parameters: Tensors, keep: bool = False) -> Gradients:
    """Σ seed · ∂loss/∂θ for each parameter, None where no loss depends on it; `keep` leaves the graph for another.

    Nothing accumulates: `.grad` is left alone, and hooks that wait for it to be filled are not called. See `heard`.
    """
    computed: Gradients = _run_backward(losses, seeds, keep, False, parameters, True, False)
    return [
        g if g is None or g.stride() == p.stride() else _laid_out_as(p, g)
        for g, p in zip(computed, parameters, strict=True)
    ]


def _laid_out_as(parameter: Tensor, gradient: Tensor) -> Tensor:
    """As `.grad` would be: fused rules go through both in memory's order, but that of Wᵀ is transposed in memory."""
    return torch.empty_like(parameter).copy_(gradient)


def heard_gradients(losses: Tensors, seeds: Tensors, parameters: Tensors, keep: bool = False) -> Gradients:
    """The same by the usual backward pass, which fills `.grad` and calls every hook; it stays there until the next."""
    for parameter in parameters:
        parameter.grad = None
    torch.autograd.backward(losses, seeds, retain_graph=keep, inputs=parameters)
    return [parameter.grad for parameter in parameters]


def heard(model: nn.Module, parameters: Iterable[Tensor]) -> bool:
    """Whether somebody listens to the backward pass: hooks on gradients, DDP, FSDP or compiled autograd."""
    if any(p._backward_hooks or p._post_accumulate_grad_hooks for p in parameters):
        return True
    if any(m._backward_hooks or m._backward_pre_hooks or reduces(m) for m in model.modules()):
        return True
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    return compiled is not None and bool(compiled.compiled_autograd_enabled)


def reduces(module: nn.Module) -> bool:
    """Whether a module averages its gradients over processes by itself, as DDP and FSDP do."""
    return _is(module, "torch.nn.parallel.distributed", "DistributedDataParallel") or sharded(module)


def sharded(module: nn.Module) -> bool:
    """Whether each process has only its shard of a module's parameters, as with FSDP."""
    return _is(module, "torch.distributed.fsdp", "FSDPModule")


def _is(module: nn.Module, where: str, kind: str) -> bool:
    loaded = sys.modules.get(where)  # who wraps by one of them has loaded it
    return loaded is not None and isinstance(module, getattr(loaded, kind))
