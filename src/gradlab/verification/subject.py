"""What is checked: a block of gradlab, or a module or function of a user that is said to be like one."""

import copy
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar, get_args

import torch
from torch import nn

from gradlab.errors import GradlabError, one_line
from gradlab.nn.blocks import find_block, settings_of
from gradlab.printable import printable
from gradlab.verification.aliases import OTHER_NAMES, their_names
from gradlab.verification.conditions import PLAIN, Condition
from gradlab.verification.incomparable import Incomparable as Incomparable
from gradlab.verification.masks import AxesOfMasks, MaskForm
from gradlab.verification.parameters import SIZES, Shapes, Source, find, reversed_shares, turned_alike
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


@dataclass(frozen=True)
class Subject:
    """The block's name, what is checked in its place, and the values that are fixed and not drawn."""

    name: str
    implementation: Any
    """A class of modules, a function that builds one, a module; or, like a block that is a function, a function."""

    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the block, and values that its constructor alone knows."""

    place: Place = HOME
    seed: int = field(default=0, kw_only=True)
    """Of the random cases."""

    pairs: Mapping[str, str] = field(default_factory=dict)
    """Parameters of ours, and which of its own they are, where the user has said so."""

    assumed: Collection[str] = ()
    """Settings that it does not take, and which are therefore fixed at the block's defaults."""

    condition: Condition = PLAIN
    foreign: bool = False
    """Whether a user wrote it, who may have other conventions where no value is the right one."""

    mask: MaskForm = "visible"
    """What a mask of it says."""

    batch_first: bool = True
    """Whether examples are on the first axis of its sequences, as here, or on the second."""

    one_hot: bool = False
    """Whether its targets are probabilities alone, so that classes are given to it as such."""

    reverse: bool = False
    """Whether those of ours that share one of its parameters lie there the other way round."""

    axes: AxesOfMasks = field(default_factory=dict, compare=False)
    """Those that its masks have, as far as it has been asked."""

    answered: set[tuple[int, ...]] = field(default_factory=set, compare=False)
    """The ranks of the calls that it has answered."""

    known_sources: dict[tuple[tuple[str, Any], ...], Mapping[str, Source]] = field(default_factory=dict, compare=False)
    """Where our parameters are in it, by those settings that are no sizes."""

    shaped: dict[tuple[tuple[str, Any], ...], Shapes] = field(default_factory=dict, compare=False)
    """The shapes of our parameters, by the settings."""

    @classmethod
    def block(cls, name: str, place: Place = HOME, seed: int = 0) -> "Subject":
        return cls(name, find_subject(name), place=place, seed=seed)

    @classmethod
    def like(cls, name: str, implementation: Any, values: Mapping[str, Any], place: Place = HOME) -> "Subject":
        """A user's class, function or module. What it does not take is read off its attributes, or is our default."""
        name = name.replace("-", "_")
        block = find_subject(name)
        ours = settings_of(block)
        if not callable(implementation):
            raise GradlabError(
                f"{printable(repr(implementation), 60)} is neither a module, a class of modules nor a function."
            )
        if isinstance(block, type) and _is_a_call(implementation, block):
            implementation = partial(AsModule, implementation)
        theirs = _own_settings(implementation)
        values, mask = _mask_form(implementation, values, {*ours, *theirs})
        values, batch_first = _taken_out(values, "batch_first", True, {*ours, *theirs})
        values, targets = _taken_out(values, "targets", "classes", {*ours, *theirs})
        one_hot = targets == "probabilities"
        pairs = {key: value for key, value in values.items() if _is_a_pair(key, value, {*ours, *theirs})}
        passed = {key: value for key, value in values.items() if key not in pairs}
        if isinstance(implementation, nn.Module):
            if isinstance(block, type) and (sizes := [key for key in passed if key not in ours]):
                raise GradlabError(f"{name} has no setting {', '.join(sizes)}, and this module is built already.")
            fixed = _attributes(implementation, block) | passed
            return cls(
                name,
                implementation,
                fixed,
                place,
                pairs,
                foreign=True,
                mask=mask,
                batch_first=batch_first,
                one_hot=one_hot,
            )
        names = their_names(ours, theirs, (_needed(ours), _needed(theirs)))
        said = {setting: passed[own] for setting, own in names.items() if own in passed and setting not in passed}
        options = ours if isinstance(block, type) else {k: p for k, p in ours.items() if p.kind is p.KEYWORD_ONLY}
        defaults = {key: p.default for key, p in options.items() if p.default is not p.empty}
        open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in theirs.values())
        assumed = {} if open_ended else {k: v for k, v in defaults.items() if k not in {*names, *passed, *said}}
        fixed = {**assumed, **said, **passed}
        if fixed.get("bias") == "one" and "bias" not in names:  # of the two, the other is not there, and so 0
            fixed["bias"] = True
        return cls(
            name,
            implementation,
            fixed,
            place,
            pairs,
            (*assumed,),
            foreign=True,
            mask=mask,
            batch_first=batch_first,
            one_hot=one_hot,
        )

    @property
    def is_ours(self) -> bool:
        return self.implementation is find_subject(self.name)

    @property
    def keeps_weights(self) -> bool:
        """Whether its parameters are the user's own, and not to be drawn."""
        return isinstance(self.implementation, nn.Module)

    @cached_property
    def drawn_as(self) -> Mapping[str, Any]:
        """The fixed values of what a check draws: those that only its constructor knows are none of them."""
        return {key: value for key, value in self.fixed.items() if key in self.ours or key not in self.theirs}

    @cached_property
    def ours(self) -> Mapping[str, inspect.Parameter]:
        """The settings of our own block."""
        return settings_of(find_subject(self.name))

    @cached_property
    def theirs(self) -> Mapping[str, inspect.Parameter]:
        """The settings of the user's constructor; a module that is built has none."""
        return _own_settings(self.implementation)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What its constructor calls our settings."""
        return their_names(self.ours, self.theirs, (_needed(self.ours), _needed(self.theirs)))

    @cached_property
    def control(self) -> "Subject":
        """Our own block, with what the user has fixed: a check that it does not pass says nothing of the user's."""
        fixed = {key: value for key, value in self.drawn_as.items() if key in self.ours}
        return Subject(self.name, find_subject(self.name), fixed, self.place, condition=self.condition, seed=self.seed)

    def shapes(self, settings: Mapping[str, Any]) -> Shapes:
        """Those of the parameters that our own block has with these settings."""
        known = {key: value for key, value in self.drawn_as.items() if key in self.ours}
        key = (*sorted(((k, v) for k, v in {**known, **settings}.items()), key=str),)
        if not _is_plain(key):
            return self._shapes({**known, **settings})
        if key not in self.shaped:
            self.shaped[key] = self._shapes({**known, **settings})
        return self.shaped[key]

    def _shapes(self, settings: Mapping[str, Any]) -> Shapes:
        with torch.device("meta"):
            ours = find_subject(self.name)(**settings)
        return {name: parameter.shape for name, parameter in ours.named_parameters()}

    @property
    def example(self) -> dict[str, Any]:
        """Settings with sizes that differ, as far as they are not fixed."""
        settings = {**SIZES.get(self.name, {}), **self.drawn_as}
        return {key: value for key, value in settings.items() if key in self.ours}

    def sources(self, settings: Mapping[str, Any]) -> Mapping[str, Source]:
        """Where our parameters are in the user's module: found at sizes that differ, so that shapes tell them apart."""
        known = SIZES.get(self.name, {})
        kept = {key: v for key, v in settings.items() if isinstance(v, bool | int | str) and key not in known}
        key = (*sorted(kept.items()),)
        if key not in self.known_sources:
            sizes = {**self.example, **kept}
            try:
                ours = self.shapes(sizes)
            except GradlabError:  # these options go with other sizes
                sizes = {**self.example, **settings}
                ours = self.shapes(sizes)
            module = self.build(sizes)
            theirs = {name: parameter.shape for name, parameter in module.named_parameters()}
            layers = [f"{path}.weight" for path, layer in module.named_modules() if isinstance(layer, nn.Linear)]
            sources = turned_alike(find(self.name, ours, theirs, self.pairs, layers), ours, layers)
            self.known_sources[key] = reversed_shares(sources) if self.reverse else sources
        return self.known_sources[key]

    def build(self, settings: Mapping[str, Any]) -> Any:
        """The thing to call, built with these settings as far as its constructor knows them."""
        block = find_subject(self.name)
        if self.is_ours:
            known = {key: value for key, value in self.fixed.items() if key in self.ours}
            return (
                block(**{**known, **settings}) if isinstance(block, type) else partial(block, **{**known, **settings})
            )
        if isinstance(self.implementation, nn.Module):
            for key, value in settings.items():
                if type(value) is int and key not in self.fixed:
                    raise Incomparable(f"it is built already, and has no attribute {key}; say {key}=…")
            return copy.deepcopy(self.implementation)
        taken, defaults, names = self.theirs, self.ours, self.names
        anything = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in taken.values())
        known = {names.get(key, key): value for key, value in settings.items() if anything or key in names}
        for key, value in settings.items():
            if names.get(key, key) not in known and key not in self.fixed and defaults[key].default != value:
                what = "its constructor" if isinstance(block, type) else "it"
                raise Incomparable(f"{what} does not take {key}, which the check varies; fix it with {key}=…")
        if not isinstance(block, type) and not isinstance(self.implementation, type):
            return partial(self.implementation, **known)
        passed = {key: value for key, value in self.fixed.items() if key not in self.assumed}
        own = {names.get(k, k): v for k, v in passed.items() if anything or k in {*names, *taken} or k not in defaults}
        arguments = {
            **self._counts(settings),
            **self._left_open(settings),
            **self._open_there(settings),
            **self._dropout(settings),
            **known,
            **own,
        }
        try:
            return self._construct(arguments)
        except CannotBuild:  # what it leaves to another constructor may be fixed there
            rest = {key: value for key, value in arguments.items() if key in taken or key not in own}
            if not anything or rest == arguments:
                raise
            return self._construct(rest)

    def _counts(self, settings: Mapping[str, Any]) -> dict[str, int]:
        """How many layers or heads ours has where a check does not say it: their default may be another number."""
        return {
            own: self.ours[key].default
            for key, own in self.names.items()
            if key not in {**settings, **self.fixed}
            and own in self.theirs
            and type(self.ours[key].default) is type(self.theirs[own].default) is int
        }

    def _left_open(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What our block makes of a setting that is None, where the user's has a default of its own: d/h, not 64."""
        open_ = {
            key: own
            for key, own in self.names.items()
            if key not in {**settings, **self.fixed}
            and self.ours[key].default is None
            and own in self.theirs
            and type(self.theirs[own].default) is int
        }
        if not open_ or not isinstance(find_subject(self.name), type):
            return {}
        with torch.device("meta"):
            ours = find_subject(self.name)(**{**{k: v for k, v in self.drawn_as.items() if k in self.ours}, **settings})
        values = {own: getattr(ours, key, None) for key, own in open_.items()}
        return {own: value for own, value in values.items() if type(value) is int}

    def _dropout(self, settings: Mapping[str, Any]) -> dict[str, float]:
        """That of their constructor, where nobody has said one: at test time it is nothing, and in training it is 0."""
        own = self.names.get("dropout")
        if not {"dropout", "p"} & {*self.ours}:  # ours drops nothing, and so should theirs unless it is at test time
            own = next((name for name in ("dropout", *OTHER_NAMES["dropout"]) if name in self.theirs), None)
        elif self.condition.training is None:
            return {}
        if own is None or {"dropout", own} & {*settings, *self.fixed}:
            return {}
        return {own: 0.5 if self.condition.training is False else 0.0}

    @property
    def drops(self) -> bool:
        """Whether it may have masks of dropout in training, which are not what is compared."""
        own = self.names.get("dropout")
        default = self.theirs[own].default if own is not None and own in self.theirs else 0.0
        return bool(self.drawn_as.get("dropout")) or (isinstance(default, float) and default > 0)

    def _open_there(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Our default of a setting that is None in theirs, such as the axis of F.softmax."""
        ours, theirs = self.ours, self.theirs
        return {
            own: ours[key].default
            for key, own in self.names.items()
            if key not in {**settings, **self.fixed}
            and own in theirs
            and theirs[own].default is None
            and isinstance(ours[key].default, bool | int | float | str)
            and ours[key].default  # a dropout of None is one of 0
        }

    def _construct(self, settings: Mapping[str, Any]) -> Any:
        try:
            return self.implementation(**settings)
        except Exception as error:  # a user's constructor may raise anything
            values = ", ".join(f"{key}={value}" for key, value in settings.items())
            name = getattr(self.implementation, "__name__", str(self.implementation))
            raise CannotBuild(f"{name}({values}) cannot be built: {type(error).__name__}: {one_line(error)}") from error


class AsModule(nn.Module):
    """A function of tensors in the place of a module: `def gelu(x)`."""

    def __init__(self, function: Callable[..., Any], **settings: Any):
        super().__init__()
        self.forward = partial(function, **settings)


def _is_a_call(implementation: Any, block: type) -> bool:
    """Whether a function is what a module would do when it is called, and not what builds one."""
    if not inspect.isroutine(implementation):
        return False
    try:
        parameters = settings_of(implementation)
    except ValueError:  # torch.tanh and its like have no signature
        return True
    needed, ours = _needed(parameters), settings_of(block)
    return not {*needed} <= {*their_names(ours, needed).values()}


def _needed(settings: Mapping[str, inspect.Parameter]) -> list[str]:
    """Those without a default."""
    return [name for name, p in settings.items() if p.default is p.empty and p.kind in _PLAIN]


_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _own_settings(implementation: Any) -> Mapping[str, inspect.Parameter]:
    """The arguments of a constructor, of a builder, or those of a function behind its tensors."""
    if isinstance(implementation, nn.Module):
        return {}
    if isinstance(implementation, partial) and implementation.func is AsModule:
        (function,) = implementation.args
        try:
            parameters = settings_of(function)
        except ValueError:
            return {}
        return {name: p for name, p in parameters.items() if p.default is not p.empty}
    return settings_of(implementation)


def _is_plain(settings: Collection[tuple[str, Any]]) -> bool:
    return all(value is None or isinstance(value, bool | int | float | str) for _, value in settings)


def _mask_form(
    implementation: Any, values: Mapping[str, Any], settings: Collection[str]
) -> tuple[Mapping[str, Any], MaskForm]:
    """`mask=hidden` among the values says what a mask says; of torch's modules it is known."""
    kind = implementation if isinstance(implementation, type) else type(implementation)
    form: Any = "hidden" if issubclass(kind, nn.MultiheadAttention | nn.TransformerEncoderLayer) else "visible"
    if "mask" in values and "mask" not in settings:
        form = values["mask"]
        values = {key: value for key, value in values.items() if key != "mask"}
    if form not in get_args(MaskForm):
        raise GradlabError(f"mask={form} is no way to mask. Valid: mask={', mask='.join(get_args(MaskForm))}.")
    return values, form


def _taken_out(
    values: Mapping[str, Any], name: str, default: Any, settings: Collection[str]
) -> tuple[Mapping[str, Any], Any]:
    """What the values say of the calls under a name that is no setting, and the other values."""
    if name in settings:
        return values, default
    return {key: value for key, value in values.items() if key != name}, values.get(name, default)


def _is_a_pair(key: str, value: Any, settings: Collection[str]) -> bool:
    """Whether `weight_ih=x2h.weight` is said of parameters, and not of settings."""
    return isinstance(value, str) and key not in settings and any(word in key for word in (".", "weight", "bias"))


def _attributes(module: nn.Module, block: Callable[..., Any]) -> dict[str, Any]:
    """What a module's attributes say of the settings of a block."""
    ours = settings_of(block)
    names = their_names(ours, [name for name in dir(module) if not name.startswith("_")])
    return {key: _setting(module, own, ours[key].default) for key, own in names.items() if _says(module, own)}


def _says(module: nn.Module, name: str) -> bool:
    """Whether an attribute can be a setting: a method, or a part of the module under a name such as `norm`, is none."""
    value = getattr(module, name)
    return not callable(value) or name in ("weight", "bias")


def _setting(module: nn.Module, key: str, default: Any) -> Any:
    """What a module's attribute says of a setting.

    A flag such as `bias` is an attribute that is there or is None; torch keeps the sizes of one axis as tuples of one.
    """
    value = getattr(module, key)
    if isinstance(value, tuple) and len(value) == 1:
        (value,) = value
    return value is not None if isinstance(default, bool) and value is not False else value
