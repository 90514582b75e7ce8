"""The Python state that a training step can read, as values that can be compared: what a replay would not repeat."""

import random
import types
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from hashlib import blake2b
from itertools import chain
from logging import Logger
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.diagnosis.watching.sites import of_a_package, users_site

_MOST = 200_000  # values that are compared: a walk over them takes a fifth of a second
_MOST_BYTES = 2**28  # of the arrays on the host that are compared
_ATOMS = (type(None), bool, int, float, complex, str, bytes, range, slice, Enum, torch.dtype, torch.device, torch.Size)
_PLAIN = frozenset((bool, int, str, type(None)))
_CONTAINERS = frozenset((dict, OrderedDict, list, set))
_FIXED = (types.BuiltinFunctionType, np.ufunc, Logger, Thread, torch.layout, torch.memory_format)


class UnreadableState(Exception):
    """Some value has a state that cannot be seen, or there are too many values."""


class ValuePlace(NamedTuple):
    """Where a value is stored: a name in a class or a function."""

    owner: Any
    name: str
    path: str


@dataclass
class PythonState:
    """Values by their paths, and the tensors on the device among them."""

    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, ValuePlace] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    functions: list[types.FunctionType] = field(default_factory=list)
    """The user's, from which everything else was reached."""

    def change(self, later: "PythonState") -> tuple[ValuePlace, Any, Any] | None:
        """The first value that differs: where it is, and what it was and is; None if all are the same."""
        if self.values == later.values:
            return None
        for path in dict.fromkeys(chain(self.values, later.values)):
            before, after = self.values.get(path, _ABSENT), later.values.get(path, _ABSENT)
            if before != after:
                return self.places.get(path) or later.places[path], before, after
        return None


_ABSENT = ("absent",)


def read_python_state(roots: Mapping[str, Any], device: torch.device) -> PythonState:
    """The state in reach of functions, modules and other objects, which have names in messages.

    Followed are attributes, containers, closures, defaults, and the globals that code of the user names; installed
    packages are taken to have no state outside of their objects. Tensors on the device are compared by their memory,
    which a replay writes to, and everything on the host by its content.
    """
    reader = _Reader(device)
    for name, root in roots.items():
        reader.add(name, root, ValuePlace(root, name, name))
    reader.read()
    return reader.state


class _Reader:
    def __init__(self, device: torch.device):
        self.device, self.state, self.bytes = device, PythonState(), 0
        self.seen: dict[int, Any] = {}  # keeps temporary objects alive too, so that each id stays unique
        self.waiting: deque[tuple[str, Any, ValuePlace]] = deque()

    def add(self, path: str, value: Any, place: ValuePlace) -> None:
        kind = type(value)
        if kind in _PLAIN:
            self.state.values[path] = "value", kind, value
            self.state.places[path] = place
        elif kind in _CONTAINERS and not value:  # most of the attributes of a module are empty
            self.state.values[path] = "items", kind, 0
            self.state.places[path] = place
        else:
            self.waiting.append((path, value, place))

    def read(self) -> None:
        while self.waiting:
            path, value, place = self.waiting.popleft()
            self.state.values[path] = self._summary(path, value, place)
            self.state.places[path] = place
            if len(self.state.values) > _MOST:
                raise UnreadableState(f"more than {_MOST:,} Python values are in reach of it")

    def _summary(self, path: str, value: Any, place: ValuePlace) -> Any:
        """What is compared of a value itself; its parts are added to those that are still to be read."""
        if isinstance(value, _ATOMS):
            return "value", type(value), repr(value) if isinstance(value, float) else value
        if id(value) in self.seen:
            return "object", id(value)
        self.seen[id(value)] = value
        if isinstance(value, Tensor):
            return self._tensor(path, value)
        if isinstance(value, np.ndarray) and value.dtype != object:
            return "numbers", value.shape, str(value.dtype), self._digest(value)
        if (state := _generator_state(value)) is not None:
            return "random", state
        if isinstance(value, (list, tuple, deque)):
            return self._sequence(path, value, place)
        if isinstance(value, (set, frozenset)):
            return "items", type(value), frozenset(v if isinstance(v, _ATOMS) else id(v) for v in value)
        if isinstance(value, (dict, types.MappingProxyType)):
            for key, item in value.items():
                self.add(f"{path}[{key!r}]" if isinstance(key, _ATOMS) else f"{path}[{id(key)}]", item, place)
            return "items", type(value), len(value)
        self._parts(path, value, place)
        return "object", type(value), id(value)

    def _tensor(self, path: str, tensor: Tensor) -> Any:
        kind = "tensor", id(tensor), tensor.shape, tensor.dtype, tensor.requires_grad
        if tensor.layout != torch.strided or tensor.is_quantized:
            return kind
        if tensor.device.type == self.device.type:
            self.state.tensors[path] = tensor
            return *kind, tensor.data_ptr()
        if tensor.device.type != "cpu":
            return kind
        numbers = tensor.detach().resolve_conj().contiguous().reshape(-1).view(torch.uint8).numpy()
        return "numbers", *kind[1:], self._digest(numbers)

    def _digest(self, array: np.ndarray[Any, Any]) -> bytes:
        self.bytes += array.nbytes
        if self.bytes > _MOST_BYTES:
            raise UnreadableState(f"more than {_MOST_BYTES >> 20} MB of arrays on the host are in reach of it")
        return blake2b(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"").digest()

    def _sequence(self, path: str, values: Sequence[Any], place: ValuePlace) -> Any:
        if all(type(v) in _PLAIN or type(v) is float for v in values):
            return "items", type(values), tuple(map(repr, values))
        for i, item in enumerate(values):
            self.add(f"{path}[{i}]", item, place)
        return "items", type(values), len(values)

    def _parts(self, path: str, value: Any, place: ValuePlace) -> None:
        """What an object is made of."""
        if isinstance(value, (*_FIXED, types.ModuleType)):
            return
        if isinstance(value, types.FunctionType):
            self._function(path, value)
        elif isinstance(value, types.MethodType):
            self.add(path, value.__func__, place)
            self.add(f"{path}.__self__", value.__self__, ValuePlace(type(value.__self__), "", path))
        elif isinstance(value, partial):
            self.add(f"{path}.func", value.func, place)
            self.add(f"{path}.args", value.args, place)
            self.add(f"{path}.keywords", value.keywords, place)
        elif isinstance(value, (staticmethod, classmethod)):
            self.add(path, value.__func__, place)
        elif isinstance(value, property):
            self.add(path, value.fget, place)
        elif isinstance(value, type):
            self._class(value)
        elif hasattr(value, "__wrapped__"):
            self.add(path, value.__wrapped__, place)
        elif hasattr(value, "__next__"):
            raise UnreadableState(f"{path} is a {type(value).__name__}, whose position cannot be read")
        else:
            self._object(path, value)

    def _object(self, path: str, value: Any) -> None:
        kind = type(value)
        attributes = dict(vars(value)) if hasattr(value, "__dict__") else {}
        for slot in _slots(kind):
            if hasattr(value, slot):
                attributes[slot] = getattr(value, slot)
        if kind.__module__.startswith("gradlab.") and not isinstance(value, nn.Module):
            attributes = {name: part for name, part in attributes.items() if _holds_code(part)}
        for name, part in attributes.items():
            if name in ("_parameters", "_buffers", "_modules") and isinstance(part, dict):
                for key, item in part.items():
                    self.add(f"{path}.{key}", item, ValuePlace(kind, key, f"{path}.{key}"))
                self.state.values[f"{path}.{name}"] = tuple(part)
                self.state.places[f"{path}.{name}"] = ValuePlace(kind, name, path)
            else:
                self.add(f"{path}.{name}", part, ValuePlace(kind, name, f"{path}.{name}"))
        if not of_a_package(kind):
            self.add(f"type({path})", kind, ValuePlace(kind, "", path))

    def _class(self, kind: type) -> None:
        for base in kind.__mro__:
            if not of_a_package(base):
                for name, part in vars(base).items():
                    if not name.startswith("__") or isinstance(part, types.FunctionType):
                        self.add(
                            f"{base.__qualname__}.{name}", part, ValuePlace(base, name, f"{base.__qualname__}.{name}")
                        )

    def _function(self, path: str, function: types.FunctionType) -> None:
        code = function.__code__
        name = function.__qualname__
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.add(
                    f"{path}.{variable}", cell.cell_contents, ValuePlace(function, variable, f"{variable} of {name}")
                )
            except ValueError:  # not yet filled
                continue
        for part in (function.__defaults__, function.__kwdefaults__, vars(function)):
            if part:
                self.add(f"{path}.{name}", part, ValuePlace(function, "", f"a default of {name}"))
        if users_site(code.co_filename, code.co_firstlineno) is None:
            return
        self.state.functions.append(function)
        names = set(_names(code))
        for variable in sorted(names & function.__globals__.keys()):
            value = function.__globals__[variable]
            place = ValuePlace(function, variable, f"the global {variable}")
            if isinstance(value, types.ModuleType):
                self._module(variable, value, names, function)
            elif not (isinstance(value, type) and of_a_package(value)):
                self.add(f"{function.__module__}:{variable}", value, place)

    def _module(self, path: str, module: types.ModuleType, names: set[str], function: types.FunctionType) -> None:
        """Of a file of the user's, what the code may read by its name."""
        if users_site(getattr(module, "__file__", None) or "<frozen >", 1) is None:
            return
        for name in sorted(names & vars(module).keys()):
            self.add(f"{path}.{name}", getattr(module, name), ValuePlace(function, name, f"{path}.{name}"))


def _names(code: types.CodeType) -> Iterator[str]:
    """Of globals and attributes, in a function and those inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _slots(kind: type) -> list[str]:
    slots = [getattr(base, "__slots__", ()) for base in kind.__mro__]
    names = chain.from_iterable([part] if isinstance(part, str) else part for part in slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _holds_code(part: Any) -> bool:
    """Whether an attribute of an object of ours may be the user's: a function, or some by their names."""
    parts = part.values() if isinstance(part, Mapping) else (part,)
    return any(callable(one) or hasattr(one, "loss") for one in parts)


def _generator_state(value: Any) -> Any:
    """Where a random generator stands, of whichever library; None for anything else."""
    if isinstance(value, torch.Generator):
        return bytes(value.get_state().numpy())
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    return None
