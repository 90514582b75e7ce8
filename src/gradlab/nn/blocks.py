"""Building blocks by their dotted names, with their shapes checked where they are called.

    @block("norm.rms")
    class RMSNorm(nn.Module):
        def forward(self, x: Float[Tensor, "*batch {self.dim}"]) -> Float[Tensor, "*batch {self.dim}"]: ...

The annotation is the only place where a shape is written: it is what a reader reads, what the tests check, what
`gradlab explain` prints, and what a wrong input is told.
"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar

import torch
from jaxtyping import AbstractArray
from torch import Tensor, nn

from gradlab.errors import GradlabError, unknown

Made = TypeVar("Made", bound=Callable[..., Any])

blocks: dict[str, Callable[..., Any]] = {}
"""Each block: a class of modules, or a function."""


class ShapeError(GradlabError):
    """A tensor whose shape does not fit the block it was given to."""


def block(name: str) -> Callable[[Made], Made]:
    """Enter a class of modules, or a function, under a dotted name, and have its arguments' shapes checked."""

    def enter(made: Made) -> Made:
        assert name not in blocks, f"two blocks named {name!r}"
        if isinstance(made, type):
            made.forward = _checked(made.forward, name)  # type: ignore[attr-defined]
        else:
            made = _checked(made, name)
        blocks[name] = made
        return made

    return enter


def find_block(name: str) -> Callable[..., Any]:
    """The block of a name; an unknown one is answered with the closest."""
    if name not in blocks:
        raise unknown("block", name, blocks)
    return blocks[name]


def settings_of(made: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The arguments of a constructor or of a function; a module without a constructor of its own takes none."""
    if isinstance(made, type) and next(c for c in made.__mro__ if "__init__" in vars(c)) is nn.Module:
        return {}
    return inspect.signature(made).parameters


@dataclass(frozen=True)
class Axis:
    """One word of an annotation: a size that arguments share (`batch`), or one that the block has (`{self.dim}`)."""

    label: str
    """As messages and `explain` write it."""

    many: bool = False
    """Whether it stands for any number of axes."""

    attribute: str = ""
    """The block's attribute that has this size."""

    size: int | None = None
    """The size itself, where the annotation is a number."""

    shared: bool = False
    """Whether all arguments with this label must have one size."""

    @classmethod
    def read(cls, word: str) -> "Axis":
        if word.startswith("{self.") and word.endswith("}"):
            return cls(word[len("{self.") : -1], attribute=word[len("{self.") : -1])
        if word.isdigit():
            return cls(word, size=int(word))
        bare = word.lstrip("#*?")
        many = word == "..." or "*" in word
        label = "…" if word == "..." else "…" * many + bare
        return cls(label, many=many, shared=bare.isidentifier() and bare[0] != "_" and "#" not in word and not many)


@dataclass(frozen=True)
class Shape:
    """The annotation of one tensor."""

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, annotation: Any) -> "Shape | None":
        """The shape of a tensor's annotation, also of an optional one; None for what is no single tensor.

        >>> from jaxtyping import Float
        >>> print(Shape.of(Float[Tensor, "*batch length {self.dim}"] | None))
        (…batch, length, dim)
        """
        if typing.get_origin(annotation) in (typing.Union, types.UnionType):
            found = [shape for member in typing.get_args(annotation) if (shape := cls.of(member))]
            return found[0] if len(found) == 1 else None
        if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
            return cls(tuple(map(Axis.read, annotation.dim_str.split())))
        return None

    def __str__(self) -> str:
        return f"({', '.join(axis.label for axis in self.axes)})"

    @cached_property
    def lengths(self) -> tuple[int, int | float]:
        """The fewest and the most axes."""
        few = sum(not axis.many for axis in self.axes)
        return few, few if few == len(self.axes) else float("inf")

    @cached_property
    def places(self) -> tuple[tuple[int, Axis], ...]:
        """The axes of which something is known, with their places: from the end, for those after an open one."""
        opened = next((i for i, axis in enumerate(self.axes) if axis.many), len(self.axes))
        return tuple(
            (i if i < opened else i - len(self.axes), axis)
            for i, axis in enumerate(self.axes)
            if axis.attribute or axis.size is not None or axis.shared
        )

    def fits(self, shape: torch.Size, owner: Any, known: dict[str, int]) -> bool:
        """Whether a tensor's shape is as annotated. Sizes of shared axes become known."""
        fewest, most = self.lengths
        if not fewest <= len(shape) <= most:
            return False
        for place, axis in self.places:
            if axis.attribute:
                wanted = getattr(owner, axis.attribute)
            elif axis.size is not None:
                wanted = axis.size
            else:
                wanted = known.setdefault(axis.label, shape[place])
            if shape[place] != wanted:
                return False
        return True

    def told(self, owner: Any, known: Mapping[str, int]) -> str:
        """The shape with the sizes that are known, for a message."""

        def word(axis: Axis) -> str:
            size = getattr(owner, axis.attribute) if axis.attribute else known.get(axis.label)
            return axis.label if size is None else f"{axis.label}={size}"

        return f"({', '.join(map(word, self.axes))})"


def _checked(function: Made, name: str) -> Made:
    """The function, which first compares the shapes of its arguments with its annotations."""
    parameters = inspect.signature(function).parameters
    names = tuple(parameters)
    shapes = {n: shape for n, p in parameters.items() if (shape := Shape.of(p.annotation)) and shape.lengths[0]}
    if not shapes:
        return function
    for shape in shapes.values():
        _ = shape.places  # worked out now: a first call that is compiled could not

    @wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        owner = args[0] if names[0] == "self" else None
        known: dict[str, int] = {}
        for argument, value in (*zip(names, args, strict=False), *kwargs.items()):
            shape = shapes.get(argument)
            if shape is not None and isinstance(value, Tensor):
                before = dict(known)
                if not shape.fits(value.shape, owner, known):
                    expected = shape.told(owner, before)
                    raise ShapeError(f"{name}: {argument} must have shape {expected}, got {tuple(value.shape)}.")
        return function(*args, **kwargs)

    return typing.cast(Made, checking)
