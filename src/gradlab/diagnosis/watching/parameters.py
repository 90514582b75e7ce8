"""The tensors that a training could change: their names, how they began, and whether they have changed."""

import math
import weakref
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.watching.sites import caller, name_in, user_frame

_SAMPLE = 64
_MOST = 5000
_WORN = 8
"""Changes in place before a tensor was first seen: drawing it anew takes one or two, training it many."""


class Parameters:
    """Each under one name, the first it was seen under. Their tensors are kept, which no training minds."""

    def __init__(self, record: Record):
        self.record = record
        self.tensors: dict[str, Tensor] = {}
        self._names: dict[int, str] = {}
        self._sample: dict[str, Tensor] = {}
        self._by_shape: dict[tuple[int, ...], list[str]] = {}
        self._loaded: dict[int, weakref.ref[Tensor]] = {}
        self._asked: dict[int, weakref.ref[Tensor]] = {}
        """Tensors that were loaded, and whose gradient was asked for, before they had a name."""

    def enter(self, root: str, module: nn.Module, registered: bool = True) -> None:
        """All parameters of a module under the name of its root."""
        for path, part in module.named_modules():
            for name, parameter in part._parameters.items():
                if parameter is not None and not is_lazy(parameter):
                    full = ".".join(filter(None, (root, path, name)))
                    self.add(parameter, full, type(part).__name__, registered)

    def add(self, tensor: Tensor, name: str, owner: str = "", registered: bool = True) -> str:
        known = self._names.get(id(tensor))
        if known is not None or len(self.tensors) >= _MOST:
            return known or name
        while name in self.tensors:
            name += "'"
        self._names[id(tensor)] = name
        self.tensors[name] = tensor
        values = tensor.detach()
        sound = values.is_floating_point() and values.numel() > 0 and not values.is_meta
        first = Parameter(
            name=name,
            shape=tuple(tensor.shape),
            requires_grad=tensor.requires_grad,
            dtype=str(tensor.dtype).removeprefix("torch."),
            owner=owner,
            registered=registered,
            site=None,
            loaded=_among(tensor, self._loaded),
            asked=_among(tensor, self._asked),
        )
        if sound:
            std, mean = torch.std_mean(values.float(), correction=0)
            first.mean, first.std = float(mean), float(std)
            if values.ndim >= 2 and len(values) > 1:
                first.rows_equal = bool((values - values[:1]).abs().amax() < 1e-8)
            first.drawn = _drawn(values, first.std)
            first.inherited = not values.is_inference() and tensor._version > _WORN
            self._sample[name] = self._some(values)
            self._compare(first)
        self.record.parameters[name] = first
        return name

    def _compare(self, first: Parameter) -> None:
        """Mark it, and those of other roots that have the same values now: one is a copy of the other."""
        known = self._by_shape.setdefault(first.shape, [])
        root = first.name.split(".")[0]
        if first.std > 0:
            for name in known[:100]:
                theirs = self._some(self.tensors[name].detach())
                ours = self._sample[first.name]
                if name.split(".")[0] != root and theirs.dtype == ours.dtype and torch.equal(theirs, ours):
                    self.record.parameters[name].inherited = first.inherited = True
        known.append(first.name)

    def name(self, tensor: Tensor) -> str:
        """The name of a leaf; one that no module has is called as the user's variable."""
        known = self._names.get(id(tensor))
        if known is not None:
            return known
        told = name_in(user_frame(), tensor) or f"tensor {len(self.tensors)}"
        name = self.add(tensor, told, "Tensor")
        self.record.parameters[name].site = caller()
        return name

    def used(self, module: nn.Module, with_gradients: bool) -> None:
        """A module has run, at a look."""
        for tensor in module._parameters.values():
            name = None if tensor is None else self._names.get(id(tensor))
            if name is not None:
                one = self.record.parameters[name]
                one.used += with_gradients
                one.used_without += not with_gradients

    def known(self, tensor: Tensor) -> bool:
        return id(tensor) in self._names

    def loaded(self, module: nn.Module) -> None:
        """The values of a module were read from somewhere."""
        for tensor in module.parameters():
            name = self._names.get(id(tensor))
            if name is None:
                self._loaded[id(tensor)] = weakref.ref(tensor)
            else:
                self.record.parameters[name].loaded = True
                self._sample[name] = self._some(tensor.detach())

    def asked(self, leaves: Iterable[Tensor]) -> None:
        """The user wants to see their gradients."""
        for tensor in leaves:
            name = self._names.get(id(tensor))
            if name is None:
                self._asked = {key: one for key, one in self._asked.items() if one() is not None}
                self._asked[id(tensor)] = weakref.ref(tensor)
            else:
                self.record.parameters[name].asked = True

    def look_for_changes(self) -> bool:
        """Whether any has changed; each that has is marked."""
        changed = False
        for name, before in self._sample.items():
            one = self.record.parameters[name]
            if not one.changed:
                now = self._some(self.tensors[name].detach())
                one.changed = now.shape != before.shape or not torch.equal(now, before)
            changed = changed or one.changed
        return changed

    def pairs(self, names: list[str]) -> Iterator[tuple[Parameter, Tensor]]:
        return ((self.record.parameters[n], self.tensors[n]) for n in names if n in self.tensors)

    @staticmethod
    def _some(values: Tensor) -> Tensor:
        flat = values.reshape(-1)
        return flat[:: max(1, flat.numel() // _SAMPLE)][:_SAMPLE].clone().cpu()


def _among(tensor: Tensor, known: dict[int, "weakref.ref[Tensor]"]) -> bool:
    """Whether it is one of those; an identity alone may be that of a tensor long gone."""
    found = known.get(id(tensor))
    return found is not None and found() is tensor


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
