"""The checks of each block, entered where they are written.

    conform("norm.rms", vectors, twin=normalisation.rms_norm, peer=nn.RMSNorm)

    @law("norm.rms", fault=Fault(forward=lambda self, x: self.right(x - x.mean(-1, True))))
    def length_does_not_matter(case): ...

A law gets a `Case`, draws what it needs from it, and returns the size of the error. It comes with at least one fault: a
version of the block that breaks it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

from torch import Tensor, nn

from gradlab.verification.case import Case
from gradlab.verification.comparing import EXACT, difference, twin_difference
from gradlab.verification.place import HOME, ROUNDINGS, Place
from gradlab.verification.subject import find_subject

Kind = Literal["twin", "law", "peer"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ErrorOf = Callable[[Case], float]


@dataclass(frozen=True)
class Check:
    """One reason to believe in a block."""

    kind: Kind
    block: str
    name: str
    error: ErrorOf
    tolerance: float = EXACT
    most_cases: int | None = None
    """A statistical law looks at many numbers in one case, and needs few."""

    faults: tuple[Callable[..., Any], ...] = ()
    """Versions of the block with a fault that this check must find: every law has one, which shows that it can fail."""

    twin: Callable[..., Any] | None = None
    roundings: int = ROUNDINGS
    """From inputs to gradients, which may add up in types smaller than float64."""

    needs: str = ""
    """The package, beyond those of gradlab itself, that the peer is in."""

    ids: tuple[str, ...] = ()
    """Of the laws of the course that it states: names of `course.LAWS`."""

    def at(self, place: Place) -> "Check":
        """The same check in a place. Where numbers are rounded, it allows for that, and for more in longer sums."""
        if place == HOME:
            return self

        def error(case: Case) -> float:
            with place.entered():
                return self.error(case) / place.growth(case.length)

        return replace(self, error=error, tolerance=place.tolerance(self.tolerance, self.roundings))

    @property
    def formula(self) -> str:
        """The law in symbols: the first line of its docstring."""
        return (self.error.__doc__ or "").strip().partition("\n")[0]


checks: dict[str, list[Check]] = {}


def _enter(check: Check) -> None:
    entered = checks.setdefault(check.block, [])
    assert all((c.kind, c.name) != (check.kind, check.name) for c in entered), f"{check.block}: two {check.name!r}"
    entered.append(check)


# Twins and peers


@dataclass(frozen=True)
class Call:
    """A block that was built, what it is called with, and what others must know to do the same."""

    block: Callable[..., Any]
    inputs: Sequence[Any]
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    """Its parameters, by the names of the peer and in the order of the twin, which takes them after the inputs."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """What the twin takes besides."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the peer is built with."""

    def __call__(self) -> Any:
        return self.block(*self.inputs)

    @property
    def leaves(self) -> list[Tensor]:
        values = (*self.inputs, *self.weights.values())
        return [value for value in values if isinstance(value, Tensor) and value.requires_grad]


Draw = Callable[[Case], Call]


def conform(
    block: str,
    draw: Draw,
    *,
    twin: Callable[..., Any] | None = None,
    twin_call: Callable[..., Any] | None = None,
    peer: type[nn.Module] | Mapping[str, Callable[[Call], Any]] | None = None,
    fault: "Faults" = (),
    tolerance: float = EXACT,
    needs: str = "",
    about: str = "",
    roundings: int = ROUNDINGS,
    most_cases: int | None = None,
) -> None:
    """Compare the block with a function of the NumPy engine and with other libraries: values and all gradients.

    `twin_call` calls the twin where that does not take the inputs, the weights and the options as they are. A peer is a
    class of torch.nn, or by its name a function that makes of a call what the block should. `about` says which calls,
    where the twin has several.
    """
    faults = _faults_of(block, fault)
    if twin is not None:
        name = f"{twin.__module__.removeprefix('gradlab.')}.{twin.__name__}{about and f', {about}'}"
        error = partial(_twin_error, draw, twin_call or twin)
        _enter(Check("twin", block, name, error, EXACT, most_cases, faults, twin, roundings))
    peers = {f"torch.nn.{peer.__name__}": _by_torch(peer)} if isinstance(peer, type) else peer or {}
    for name, wanted in peers.items():
        error = partial(_peer_error, draw, wanted)
        _enter(Check("peer", block, name, error, tolerance, faults=faults, needs=needs))


def _twin_error(draw: Draw, twin: Callable[..., Any], case: Case) -> float:
    call = draw(case)
    if not case.subject.condition.smooth:  # also where a check has made its inputs of what it drew
        call = replace(call, inputs=[x.detach() if isinstance(x, Tensor) else x for x in call.inputs])
    return twin_difference(call(), twin, *call.inputs, *call.weights.values(), **call.options)


def _peer_error(draw: Draw, peer: Callable[[Call], Any], case: Case) -> float:
    call = draw(case)
    return difference(call(), peer(call), call.leaves)


def _by_torch(peer: type[nn.Module]) -> Callable[[Call], Any]:
    return lambda call: tied(peer(**call.settings), call.weights)(*call.inputs)


def tied(module: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    """The module with these parameters in place of its own, so that gradients reach them."""
    module.double()
    for name, weight in weights.items():
        owner, _, leaf = name.rpartition(".")
        setattr(module.get_submodule(owner), leaf, weight)
    return module


def peer(
    block: str, name: str, *, tolerance: float = EXACT, most_cases: int | None = None, needs: str = ""
) -> Callable[[ErrorOf], ErrorOf]:
    """The check compares the block with another library's, in a way of its own."""

    def enter(error: ErrorOf) -> ErrorOf:
        _enter(Check("peer", block, name, error, tolerance, most_cases, needs=needs))
        return error

    return enter


# Laws


class Fault:
    """A class with these methods in place of its own. In them `self.right` is a block's own `forward`."""

    def __init__(self, **methods: Callable[..., Any]):
        self.methods = methods

    def of(self, block: str) -> type:
        kind: Any = find_subject(block)
        return type(f"Faulty{kind.__name__}", (kind,), {"right": getattr(kind, "forward", None), **self.methods})


Faults = Callable[..., Any] | Fault | Mapping[str, Any] | Sequence[Any]
"""One fault for all blocks of a law, one for each by its name, or several of such."""


def law(
    *blocks: str, fault: Faults, tolerance: float = EXACT, most_cases: int | None = None, id: str | Sequence[str] = ()
) -> Callable[[ErrorOf], ErrorOf]:
    """A law of these blocks, named as the function is, and what breaks it; `id`, which of the course's laws it is."""
    ids = (id,) if isinstance(id, str) else tuple(id)

    def enter(error: ErrorOf) -> ErrorOf:
        name = error.__name__.strip("_").replace("_", " ")
        for block in blocks:
            faults = _faults_of(block, fault)
            _enter(Check("law", block, name, error, tolerance, most_cases, faults, ids=ids))
        return error

    return enter


def _faults_of(block: str, fault: Faults) -> tuple[Callable[..., Any], ...]:
    if isinstance(fault, Sequence):
        return tuple(each for one in fault for each in _faults_of(block, one))
    if isinstance(fault, Mapping):
        return _faults_of(block, fault[block]) if block in fault else ()
    return (fault.of(block) if isinstance(fault, Fault) else fault,)


# Examples


@dataclass(frozen=True)
class Example:
    """A block as people would use it: what `explain` shows, and what must compile, run in bf16 and be counted."""

    settings: Mapping[str, Any]
    inputs: tuple[Any, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The letters of the cost formulas in the block's docstring."""


examples: dict[str, Callable[[], Example]] = {}


def example(*blocks: str, call: Callable[..., tuple[Mapping[str, Any], tuple[Any, ...]]], **sizes: int) -> None:
    """Enter a function of the sizes that gives the settings of these blocks and the inputs of a call."""
    for block in blocks:
        examples[block] = lambda: Example(*call(**sizes), sizes)
