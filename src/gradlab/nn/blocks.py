"""Building blocks by their dotted names, with their settings and shapes checked where they are built and called.

    @block("norm.rms", flops="O(n·d)", memory="O(n)", letters="n vectors of d features")
    class RMSNorm(nn.Module):
        def __init__(self, dim: Count): ...
        def forward(self, x: Float[Tensor, "*batch {self.dim}"]) -> Float[Tensor, "*batch {self.dim}"]: ...

The annotation is the only place where a bound or a shape is written: it is what a reader reads, what the tests check,
what `gradlab explain` prints, and what a wrong argument is answered with. A block of a `Family` is also a choice of a
model's knob, and its settings are knobs of a recipe.
"""

import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial, wraps
from typing import Any, TypeVar

import torch
from jaxtyping import AbstractArray
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.plain import know
from gradlab.registry import Part, Registry, Schema, Settings

Block = TypeVar("Block", bound=Callable[..., Any])

blocks: Registry[Any] = Registry("block")
"""Each block: a class of modules, or a function."""

costs: dict[str, dict[str, str]] = {}
"""What a call of each block costs: FLOPs, memory, and what the letters in them stand for."""


class ShapeError(GradlabError):
    """A tensor whose shape does not fit the block it was given to."""


def block(
    name: str, *, flops: str = "", memory: str = "", letters: str = "", old: Callable[..., Settings] | None = None
) -> Callable[[Block], Block]:
    """Enter a class of modules, or a function, under a dotted name, and have its arguments checked.

    `old` reads the settings that it had in recipes of earlier versions.
    """

    def enter(definition: Block) -> Block:
        if isinstance(definition, type):
            definition.forward = _with_shapes(definition.forward, name)  # type: ignore[attr-defined]
            if settings_of(definition):
                definition.__init__ = _with_settings(definition.__init__, name)  # type: ignore[misc]
            if definition.extra_repr is nn.Module.extra_repr:  # type: ignore[attr-defined]
                definition.extra_repr = _settings_repr  # type: ignore[attr-defined]
            know(definition)
        else:
            definition = _with_settings(_with_shapes(definition, name), name)
        blocks.register(name, old=old)(definition)
        stated = {"FLOPs": flops, "Memory": memory, "Letters": letters and f"with {letters}"}
        costs[name] = {key: text for key, text in stated.items() if text}
        return definition

    return enter


def find_block(name: str) -> Callable[..., Any]:
    """The block of a name; an unknown one is answered with the closest."""
    return blocks[name]


def settings_of(definition: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The arguments of a constructor or of a function; a module without a constructor of its own takes none."""
    if isinstance(definition, type) and next(c for c in definition.__mro__ if "__init__" in vars(c)) is nn.Module:
        return {}
    return inspect.signature(definition).parameters


class Family(Registry[Any]):
    """The blocks whose names fit a pattern, as the choices of a knob: `Family("pool.{}2d", "kernel_size")`.

    `sizes` are settings that the model knows: it passes them by name, and each block takes those that it has. The
    others are knobs. A block is a choice if what it cannot be built without is among the sizes, at least in part.
    """

    def __init__(self, pattern: str, *sizes: str, makes: type = nn.Module, old: Mapping[str, str] = {}):
        """`makes` is Module for classes, or object for functions; `old` has earlier names of blocks."""
        super().__init__(pattern.split(".")[0], makes=makes)
        self._before, self._after = pattern.split("{}")
        self._sizes, self._old_names = sizes, old

    def things(self) -> Mapping[str, Any]:
        names = [name for name in blocks if name.startswith(self._before) and name.endswith(self._after)]
        short = {name[len(self._before) : len(name) - len(self._after)]: blocks[name] for name in names}
        return {name: definition for name, definition in short.items() if self._can_build(definition)}

    def _can_build(self, definition: Any) -> bool:
        settings = [p for p in settings_of(definition).values() if Shape.of(p.annotation) is None]
        needed, sizes = {p.name for p in settings if p.default is p.empty}, {*self._sizes}
        return isinstance(definition, type) == (self._makes is nn.Module) and (needed <= sizes or bool(needed & sizes))

    def _find(self, name: object) -> str | None:
        return super()._find(self._old_names.get(name, name) if isinstance(name, str) else name)

    def owner(self, name: str) -> str:
        return blocks.owner(self._before + name + self._after)

    def schema(self, name: str) -> Schema:
        full = self._before + self.spelled(name) + self._after
        schema = Schema(blocks[full], (*self._sizes, *_tensors(blocks[full])), blocks.old(full))
        schema.knobs = {name: knob for name, knob in schema.knobs.items() if knob.readable}
        return schema

    def build(self, part: Part, *size: Any, **sizes: Any) -> Any:
        """The module, or the function with its settings. One size without a name stands for all of them."""
        definition = self[part.name]
        sizes = dict.fromkeys(self._sizes, *size) if size else sizes
        values = {name: value for name, value in sizes.items() if name in settings_of(definition)} | {**part.values}
        return definition(**values) if isinstance(definition, type) else partial(definition, **values)


def _tensors(definition: Callable[..., Any]) -> list[str]:
    return [p.name for p in settings_of(definition).values() if Shape.of(p.annotation)]


def _settings_repr(module: nn.Module) -> str:
    """The settings that a module keeps as attributes, for `extra_repr`."""
    values = ((name, getattr(module, name, None)) for name in settings_of(type(module)))
    return ", ".join(f"{name}={value!r}" for name, value in values if isinstance(value, int | float | str | tuple))


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
            shapes = [shape for member in typing.get_args(annotation) if (shape := cls.of(member))]
            return shapes[0] if len(shapes) == 1 else None
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

    def test(self, shared: Collection[str]) -> Callable[[torch.Size, Any, dict[str, int]], bool]:
        """Whether a tensor's shape is as annotated: a function of it, its block, and sizes that other tensors had.

        One expression, since it is computed at every call. Of the axes with a label only the `shared` ones matter.
        """
        fewest, most = self.lengths
        tests = [f"len(shape) {'==' if fewest == most else '>='} {fewest}"]
        for place, axis in self.places:
            if axis.attribute:
                tests.append(f"shape[{place}] == owner.{axis.attribute}")
            elif axis.size is not None:
                tests.append(f"shape[{place}] == {axis.size}")
            elif axis.label in shared:
                tests.append(f"shape[{place}] == known.setdefault({axis.label!r}, shape[{place}])")
        test: Callable[..., bool] = eval(f"lambda shape, owner, known: {' and '.join(tests)}")
        return test

    def with_sizes(self, owner: Any, known: Mapping[str, int]) -> str:
        """The shape with the sizes that are known, for a message."""

        def word(axis: Axis) -> str:
            size = getattr(owner, axis.attribute) if axis.attribute else known.get(axis.label)
            return axis.label if size is None else f"{axis.label}={size}"

        return f"({', '.join(map(word, self.axes))})"


def _with_shapes(function: Block, name: str) -> Block:
    """The function, which first compares the shapes of its arguments with its annotations."""
    parameters = inspect.signature(function).parameters
    shapes = {n: shape for n, p in parameters.items() if (shape := Shape.of(p.annotation)) and shape.lengths[0]}
    labels = [axis.label for shape in shapes.values() for _, axis in shape.places if axis.shared]
    shared = {label for label in labels if labels.count(label) > 1}
    tests = [(i, n, shapes[n].test(shared)) for i, n in enumerate(parameters) if n in shapes]
    if not tests:
        return function

    @wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        known: dict[str, int] = {}
        for place, argument, fits in tests:
            value = args[place] if place < len(args) else kwargs.get(argument)
            if isinstance(value, Tensor) and not fits(value.shape, args[0], known):
                raise refusal(args, kwargs, argument, value)
        return function(*args, **kwargs)

    def refusal(args: tuple[Any, ...], kwargs: Settings, wrong: str, tensor: Tensor) -> ShapeError:
        known: dict[str, int] = {}
        for place, argument, fits in tests:
            if argument == wrong:
                break
            value = args[place] if place < len(args) else kwargs.get(argument)
            if isinstance(value, Tensor):
                fits(value.shape, args[0], known)
        expected = shapes[wrong].with_sizes(args[0], known)
        return ShapeError(f"{name}: {wrong} must have shape {expected}, got {tuple(tensor.shape)}.")

    return typing.cast(Block, checking)


def _with_settings(function: Block, name: str) -> Block:
    """The function, which first compares its arguments other than tensors with its annotations."""
    parameters = inspect.signature(function).parameters
    fixed = [n for n, p in parameters.items() if n == "self" or Shape.of(p.annotation)]
    if all(n in fixed or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for n, p in parameters.items()):
        return function
    names = tuple(parameters)
    schema = cache(lambda: Schema(function, fixed))  # read when it is first needed

    @wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling():  # a compiler could not follow the validator
            schema().check({**dict(zip(names, args, strict=False)), **kwargs}, name)
        return function(*args, **kwargs)

    return typing.cast(Block, checking)
