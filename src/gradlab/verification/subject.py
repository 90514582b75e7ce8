"""What is checked: a block of gradlab, or a module or function of a user that is said to be like one."""

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from torch import nn

from gradlab.errors import GradlabError, one_line
from gradlab.nn.blocks import find_block, settings_of
from gradlab.verification.place import HOME, Place

Function = TypeVar("Function", bound=Callable[..., Any])


subjects: dict[str, Callable[..., Any]] = {}
"""What is checked as blocks are, without being any: kernels (or PyTorch's form of them), and functions of `maths`."""


def subject(name: str) -> Callable[[Function], Function]:
    """Enter a function or a class under a name, whose first word is its family."""

    def enter(function: Function) -> Function:
        assert name not in subjects, f"two subjects {name!r}"
        subjects[name] = function
        return function

    return enter


def find_subject(name: str) -> Callable[..., Any]:
    """The subject or the block of a name; an unknown one is answered with the closest block."""
    return subjects[name] if name in subjects else find_block(name)


class CannotBuild(GradlabError):
    """A user's class that does not take the values it is built with."""


class Incomparable(Exception):
    """A check does not apply to this subject; the text says why."""


@dataclass(frozen=True)
class Subject:
    """The block's name, what is checked in its place, and the values that are fixed and not drawn."""

    name: str
    implementation: Any
    """A class of modules, a function that builds one, a module; or, like a block that is a function, a function."""

    fixed: Mapping[str, Any] = field(default_factory=dict)
    place: Place = HOME

    @classmethod
    def block(cls, name: str, place: Place = HOME) -> "Subject":
        return cls(name, find_subject(name), place=place)

    @classmethod
    def like(cls, name: str, implementation: Any, values: Mapping[str, Any], place: Place = HOME) -> "Subject":
        """A user's class, function or module. The sizes of a module are read off its attributes, where it has them."""
        name = name.replace("-", "_")
        block = find_subject(name)
        fixed = dict(values)
        if isinstance(implementation, nn.Module):
            if values and isinstance(block, type):
                sizes = [key for key in values if key not in settings_of(block)]
                if sizes:
                    raise GradlabError(f"{name} has no setting {', '.join(sizes)}, and this module is built already.")
            fixed = {
                key: _setting(implementation, key, block) for key in settings_of(block) if hasattr(implementation, key)
            } | fixed
        elif not callable(implementation):
            raise GradlabError(f"{implementation!r} is neither a module, a class of modules nor a function.")
        return cls(name, implementation, fixed, place)

    @property
    def keeps_weights(self) -> bool:
        """Whether its parameters are the user's own, and not to be drawn."""
        return isinstance(self.implementation, nn.Module)

    def build(self, settings: Mapping[str, Any]) -> Any:
        """The thing to call, built with these settings as far as its constructor knows them."""
        block = find_subject(self.name)
        if self.implementation is block:
            return block(**settings) if isinstance(block, type) else partial(block, **settings)
        if isinstance(self.implementation, nn.Module):
            for key, value in settings.items():
                if type(value) is int and key not in self.fixed:
                    raise Incomparable(f"it is built already, and has no attribute {key}; say {key}=…")
            return copy.deepcopy(self.implementation)
        taken, defaults = settings_of(self.implementation), settings_of(block)
        anything = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in taken.values())
        known = {key: value for key, value in settings.items() if anything or key in taken}
        for key, value in settings.items():
            if key not in known and key not in self.fixed and defaults[key].default != value:
                what = "its constructor" if isinstance(block, type) else "it"
                raise Incomparable(f"{what} does not take {key}, which the check varies; fix it with {key}=…")
        if not isinstance(block, type) and not isinstance(self.implementation, type):
            return partial(self.implementation, **known)
        own = {key: value for key, value in self.fixed.items() if anything or key in taken or key not in defaults}
        return self._construct({**known, **own})

    def _construct(self, settings: Mapping[str, Any]) -> Any:
        try:
            return self.implementation(**settings)
        except Exception as error:  # a user's constructor may raise anything
            values = ", ".join(f"{key}={value}" for key, value in settings.items())
            name = getattr(self.implementation, "__name__", str(self.implementation))
            raise CannotBuild(f"{name}({values}) cannot be built: {type(error).__name__}: {one_line(error)}") from error


def _setting(module: nn.Module, key: str, block: Callable[..., Any]) -> Any:
    """What a module's attribute says of a setting; a flag such as `bias` is an attribute that is there or is None."""
    value = getattr(module, key)
    return value is not None if isinstance(settings_of(block)[key].default, bool) and value is not False else value
