"""One pass of any module, forward and back: what each part of it was given, what it gave, and what came back.

Everything is seen through hooks, which are gone afterwards. The module is not changed, nor are the gradients that its
parameters hold.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from gradlab.errors import GradlabError, one_line
from gradlab.nn.activations import Behaviour
from gradlab.nn.modes import evaluating
from gradlab.probes.behaviours import behaviour_of, saturated_share

LossFunction = Callable[..., Tensor]
Storage = tuple[int, int, int]


@dataclass(eq=False)
class ModuleCall:
    """One call of one module. One that gives back what it was given, such as dropout in evaluation, is left out."""

    name: str
    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    saturated: float | None
    """The share of its inputs where its slope is below 0.01, if it is an activation of known behaviour."""

    outputs: list[Tensor] = field(default_factory=list)
    """The numbers it gave, as they were then: a later layer may overwrite them."""

    gradients: list[Tensor | None] = field(default_factory=list)
    """Of the loss with respect to each output; None where the loss does not depend on it."""

    handed_on: bool = False
    """Whether it computed nothing itself, and gave what a part of it gave, as containers do."""

    def bound(self) -> dict[str, Any]:
        """Its arguments by their names."""
        return inspect.signature(self.module.forward).bind(*self.args, **self.kwargs).arguments


@dataclass(frozen=True, eq=False)
class Recording:
    """The calls of one pass in the order in which they ended, and the gradients of the loss."""

    model: nn.Module
    calls: list[ModuleCall]
    output: Any
    loss: float | None
    gradients: dict[str, Tensor | None]
    """Of the loss with respect to each parameter; nothing without a loss."""


def record(
    model: nn.Module,
    x: Any,
    y: Any = None,
    loss: LossFunction | None = None,
    call: Callable[[], Any] | None = None,
) -> Recording:
    """Run a model on a batch in evaluation mode, and back from `loss(output, y)` if there is one.

    x is a tensor, a tuple of arguments, or a dictionary of them by name. Without y, the loss is of the output alone.
    `call` computes the output, where the model is not simply called on x.

    >>> seen = record(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), torch.ones(5, 3), loss=torch.sum)
    >>> [(call.name, call.handed_on, tuple(call.gradients[0].shape)) for call in seen.calls]
    [('0', False, (5, 2)), ('1', False, (5, 2)), ('', True, (5, 2))]
    """
    watch = _Hooks(model)
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    with torch.inference_mode(False), torch.enable_grad(), evaluating(model), _backward_of_recurrence(model):
        args, kwargs = _arguments(x)
        with watch:
            try:
                output = model(*args, **kwargs) if call is None else call()
            except (RuntimeError, TypeError, ValueError, IndexError) as error:
                raise GradlabError(f"The model cannot be called on these inputs: {one_line(error)}") from None
        if loss is None:
            return Recording(model, watch.calls, output, None, {})
        value = _value(loss, output, y)
        gradients: dict[str, Tensor | None] = dict.fromkeys(parameters)
        if value.requires_grad:
            # The inputs too, so that the way back goes through frozen layers.
            wanted = [*parameters.values(), *(t for t in tensors((args, kwargs)) if t.requires_grad)]
            gradients.update(zip(parameters, torch.autograd.grad(value, wanted, allow_unused=True), strict=False))
    return Recording(model, watch.calls, output, value.item(), gradients)


class _Hooks:
    """Hooks on every module while it is entered."""

    def __init__(self, model: nn.Module):
        self.names = {module: name for name, module in model.named_modules()}
        self.calls: list[ModuleCall] = []
        self._open: list[tuple[ModuleCall, set[Storage]]] = []
        self._sources: dict[Storage, ModuleCall] = {}
        self._kept: list[Tensor] = []  # so that no other tensor takes their place in memory
        self._handles: list[RemovableHandle] = []

    def __enter__(self) -> None:
        for module in self.names:
            self._handles.append(module.register_forward_pre_hook(self._before, with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._after, with_kwargs=True))

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        behaviour: Behaviour | None = behaviour_of(module)
        first = next(tensors((args, kwargs)), None)
        share = None if behaviour is None or first is None else saturated_share(first.detach(), behaviour)
        call = ModuleCall(self.names[module], module, args, kwargs, share)
        self._open.append((call, {_storage(t) for t in tensors((args, kwargs))}))

    def _after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        call, inputs = self._open.pop()
        outputs = list(tensors(output))
        if not outputs or _storage(outputs[0]) in inputs:
            return
        self.calls.append(call)
        if (source := self._sources.get(_storage(outputs[0]))) is not None:
            call.outputs, call.gradients, call.handed_on = source.outputs, source.gradients, True
            return
        self._sources[_storage(outputs[0])] = call
        self._kept += outputs
        for i, tensor in enumerate(outputs):
            call.outputs.append(tensor.detach().clone())
            call.gradients.append(None)
            if tensor.requires_grad:
                tensor.register_hook(partial(call.gradients.__setitem__, i))  # type: ignore[no-untyped-call]


def tensors(value: Any) -> Iterator[Float[Tensor, "..."]]:
    """The tensors of numbers in whatever a module takes or gives, in order."""
    if isinstance(value, Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, Mapping):
        yield from tensors(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors(part)


def _storage(tensor: Tensor) -> Storage:
    """Where its numbers are, and how often they were overwritten: the same for views of all of them."""
    return tensor.data_ptr(), tensor.numel(), tensor._version


def _arguments(x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of the call. Inputs that are numbers get a gradient too, and are left as they were."""

    def own(value: Any) -> Any:
        numbers = isinstance(value, Tensor) and value.is_floating_point()
        return value.detach().clone().requires_grad_() if numbers else value

    if isinstance(x, Mapping):
        return (), {name: own(value) for name, value in x.items()}
    return tuple(own(value) for value in (x if isinstance(x, tuple) else (x,))), {}


def _value(loss: LossFunction, output: Any, y: Any) -> Tensor:
    try:
        value = loss(output) if y is None else loss(output, y)
    except (RuntimeError, TypeError, IndexError) as error:
        raise GradlabError(f"The loss cannot be computed: {one_line(error)}") from None
    if not isinstance(value, Tensor) or value.numel() != 1:
        got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise GradlabError(f"The loss must be a tensor of one number, got {got}. Take its mean or its sum.")
    return value


def _backward_of_recurrence(model: nn.Module) -> AbstractContextManager[Any]:
    """cuDNN has no way back through a recurrent layer in evaluation mode, and PyTorch's own kernels have."""
    on_cuda = any(isinstance(m, nn.RNNBase) and next(m.parameters()).is_cuda for m in model.modules())
    return torch.backends.cudnn.flags(enabled=False) if on_cuda else nullcontext()
