"""The tensors that a training could change: their names, how they began, and whether they have changed."""

import math
import weakref
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.watching.known import Known
from gradlab.diagnosis.watching.sites import name_in, user_frame
from gradlab.diagnosis.watching.tensors import is_measurable

_SAMPLE = 64
_MOST = 5000
_WORN = 8
"""Changes in place before a tensor was first seen: drawing it anew takes one or two, training it many."""


class ParameterNames:
    """Each under one name, the first it was seen under."""

    def __init__(self, record: Record):
        self.record = record
        self._tensors: dict[str, weakref.ref[Tensor]] = {}
        self._names: Known[str] = Known()
        self._sample: dict[str, Tensor] = {}
        self._by_shape: dict[tuple[int, ...], list[str]] = {}
        self._loaded: Known[bool] = Known()
        self._held: Known[bool] = Known()
        """Parameters that a module has registered."""
        self._asked: Known[bool] = Known()
        """Tensors that were loaded, and whose gradient was asked for, before they had a name."""

    def enter(self, root: str, module: nn.Module, registered: bool = True) -> None:
        """All parameters of a module under the name of its root."""
        for path, part in module.named_modules():
            for name, parameter in part._parameters.items():
                if parameter is not None and not is_lazy(parameter):
                    full = ".".join(filter(None, (root, path, name)))
                    self.add(parameter, full, type(part).__name__, registered)

    def registered(self, module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        """A module is about to take a parameter for its own."""
        if parameter is not None and not is_lazy(parameter):
            self._held[parameter] = True

    def add(self, tensor: Tensor, name: str, owner: str = "", registered: bool = True) -> str:
        known = self._names.get(tensor)
        if known is not None or len(self._tensors) >= _MOST:
            return known or name
        while name in self._tensors:
            name += "'"
        self._bind(name, tensor)
        values = tensor.detach()
        sound = is_measurable(tensor) and values.is_floating_point() and values.numel() > 0
        first = Parameter(
            name=name,
            shape=tuple(tensor.shape),
            requires_grad=tensor.requires_grad,
            dtype=str(tensor.dtype).removeprefix("torch."),
            owner=owner,
            registered=registered,
            loaded=tensor in self._loaded,
            asked=tensor in self._asked,
        )
        if sound:
            std, mean = torch.std_mean(values.float(), correction=0)
            first.mean, first.std = float(mean), float(std)
            if values.ndim >= 2 and len(values) > 1:
                first.rows_equal = first.rows_equal_later = _alike(values, 0.0)
            first.drawn = _drawn(values, first.std)
            first.inherited = not values.is_inference() and tensor._version > _WORN
            self._sample[name] = self.some(values)
            self._compare(first)
        self.record.parameters[name] = first
        return name

    def _compare(self, first: Parameter) -> None:
        """Mark it, and those of other roots that have the same values now: one is a copy of the other."""
        known = self._by_shape.setdefault(first.shape, [])
        root = first.name.split(".")[0]
        if first.std > 0:
            ours = self._sample[first.name]
            for name in [n for n in known[:100] if n.split(".")[0] != root]:
                other = self.tensor(name)
                if other is None:
                    continue
                theirs = self.some(other.detach())
                if theirs.dtype == ours.dtype and torch.equal(theirs, ours):
                    self.record.parameters[name].inherited = first.inherited = True
        known.append(first.name)

    def name(self, tensor: Tensor) -> str:
        """The name of a leaf; one that no module has is called as the user's variable."""
        known = self._names.get(tensor)
        if known is not None:
            return known
        candidate = name_in(user_frame(), tensor) or f"tensor {len(self._tensors)}"
        if self._takes_the_place(tensor, candidate):
            self._bind(candidate, tensor)
            return candidate
        # Whoever makes a parameter wants a module to have it; what an expression made of it is none any more.
        lost = type(tensor) is nn.Parameter and tensor not in self._held
        return self.add(tensor, candidate, "Tensor", registered=not lost)

    def used(self, module: nn.Module, with_gradients: bool) -> None:
        """A module has run, at a look."""
        for tensor in module._parameters.values():
            name = None if tensor is None else self._names.get(tensor)
            if name is not None:
                one = self.record.parameters[name]
                one.used += with_gradients
                one.used_without += not with_gradients

    def known(self, tensor: Tensor) -> bool:
        return tensor in self._names

    def loaded(self, module: nn.Module) -> None:
        """The values of a module were read from somewhere."""
        for tensor in module.parameters():
            name = self._names.get(tensor)
            if name is None:
                self._loaded[tensor] = True
            else:
                self.record.parameters[name].loaded = True
                self._sample[name] = self.some(tensor.detach())

    def asked(self, leaves: Iterable[Tensor]) -> None:
        """The user wants to see their gradients."""
        for tensor in leaves:
            name = self._names.get(tensor)
            if name is None:
                self._asked[tensor] = True
            else:
                self.record.parameters[name].asked = True

    def taken(self, leaf: Tensor, step: int) -> None:
        """Its value is used as a number, which has no gradient."""
        name = self._names.get(leaf)
        if name is not None:
            self.record.parameters[name].taken.add(step)

    def look_for_changes(self) -> None:
        """Mark each that has changed."""
        for name, before in self._sample.items():
            one = self.record.parameters[name]
            tensor = None if one.changed else self.tensor(name)
            if tensor is not None:
                now = self.some(tensor.detach())
                one.changed = now.shape != before.shape or not torch.equal(now, before)
            if one.rows_equal and (tensor := self.tensor(name)) is not None:
                one.rows_equal_later = _alike(tensor.detach(), 0.01)

    def tensor(self, name: str) -> Tensor | None:
        """None if it is gone."""
        reference = self._tensors.get(name)
        return None if reference is None else reference()

    def living(self) -> Iterator[tuple[str, Tensor]]:
        for name in list(self._tensors):
            tensor = self.tensor(name)
            if tensor is not None and is_measurable(tensor):
                yield name, tensor

    def replaced(self) -> bool:
        """Whether a tensor that no module has is gone: updates may make them anew."""
        return any(
            self.record.parameters[name].owner == "Tensor" and self.tensor(name) is None for name in self._sample
        )

    def _bind(self, name: str, tensor: Tensor) -> None:
        self._names[tensor], self._tensors[name] = name, weakref.ref(tensor)

    def _takes_the_place(self, tensor: Tensor, name: str) -> bool:
        """Whether an update made it: of the same name and form as one that is gone."""
        before = self.record.parameters.get(name)
        return (
            before is not None
            and before.owner == "Tensor"
            and before.shape == tuple(tensor.shape)
            and self.tensor(name) is None
        )

    @staticmethod
    def some(values: Tensor) -> Tensor:
        """A copy of a few of the numbers."""
        flat = values.reshape(-1)
        return flat[:: max(1, flat.numel() // _SAMPLE)][:_SAMPLE].clone().cpu()


def _alike(values: Tensor, share: float) -> bool:
    """Whether all rows are the same, up to a share of their size."""
    return bool((values - values[:1]).abs().amax() <= 1e-8 + share * values.abs().mean())


def _drawn(values: Tensor, std: float) -> bool:
    """Whether these could be fresh random numbers: evenly spread, or normal at a width that initialisers use."""
    count = values.numel()
    if values.ndim < 2 or count < 30 or not std > 0:
        return True
    reach = float(values.abs().amax()) / std
    # The largest of evenly spread numbers is √3 deviations away; training takes some of them further.
    if reach < math.sqrt(3) * (1 + 1.8 / math.sqrt(count)):
        return True
    inputs, outputs = values[0].numel(), len(values) * values[0, 0].numel()
    usual = [math.sqrt(2 / inputs), math.sqrt(1 / inputs), math.sqrt(2 / (inputs + outputs)), 1.0, 0.1, 0.02, 0.01]
    return any(abs(std / width - 1) < 2.5 / math.sqrt(2 * count) for width in usual)
