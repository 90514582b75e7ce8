"""The checks of each block, entered where they are written.

    @twin("norm.rms", normalisation.rms_norm)
    def rms_twin(case): ...

    @law("norm.rms", wrong=Centred)
    def length_does_not_matter(case): ...

    @peer("norm.rms", "torch.nn.RMSNorm")
    def rms_peer(case): ...

A check gets a `Case`, draws what it needs from it, and returns the size of the error it has found.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from gradlab.verification.case import Judge

Kind = Literal["twin", "law", "peer"]
KINDS: tuple[Kind, ...] = get_args(Kind)

EXACT = 1e-9  # of the largest entry, in float64


@dataclass(frozen=True)
class Check:
    """One reason to believe in a block."""

    kind: Kind
    block: str
    name: str
    judge: Judge
    tolerance: float = EXACT
    most_cases: int | None = None
    """A statistical law looks at many numbers in one case, and needs few."""

    wrong: Callable[..., Any] | None = None
    """A version of the block with a fault that this law must find."""

    twin: Callable[..., Any] | None = None
    needs: str = ""
    """The package, beyond those of gradlab itself, that the peer is in."""

    @property
    def formula(self) -> str:
        """The law in symbols: the first line of its docstring."""
        return (self.judge.__doc__ or "").strip().partition("\n")[0]


checks: dict[str, list[Check]] = {}


def twin(block: str, function: Callable[..., Any]) -> Callable[[Judge], Judge]:
    """The check compares the block with this function of the glass engine: values and all gradients."""
    name = f"{function.__module__.removeprefix('gradlab.')}.{function.__name__}"

    def enter(judge: Judge) -> Judge:
        return _enter(Check("twin", block, name, judge, twin=function))

    return enter


def law(
    *blocks: str,
    wrong: Callable[..., Any] | Mapping[str, Callable[..., Any]],
    tolerance: float = EXACT,
    most_cases: int | None = None,
) -> Callable[[Judge], Judge]:
    """A law of these blocks, named as the function is. `wrong` breaks it: one for all blocks, or one for each."""

    def enter(judge: Judge) -> Judge:
        for block in blocks:
            broken = wrong[block] if isinstance(wrong, Mapping) else wrong
            _enter(Check("law", block, _as_words(judge), judge, tolerance, most_cases, broken))
        return judge

    return enter


def peer(
    block: str, name: str, *, tolerance: float = EXACT, most_cases: int | None = None, needs: str = ""
) -> Callable[[Judge], Judge]:
    """The check compares the block with another library's."""

    def enter(judge: Judge) -> Judge:
        return _enter(Check("peer", block, name, judge, tolerance, most_cases, needs=needs))

    return enter


def _enter(check: Check) -> Judge:
    entered = checks.setdefault(check.block, [])
    assert all((c.kind, c.name) != (check.kind, check.name) for c in entered), f"{check.block}: two {check.name!r}"
    entered.append(check)
    return check.judge


def _as_words(function: Callable[..., Any]) -> str:
    return function.__name__.strip("_").replace("_", " ")


@dataclass(frozen=True)
class Example:
    """A block as people would use it: what `explain` shows, and what must compile, run in bf16 and be counted."""

    settings: Mapping[str, Any]
    inputs: tuple[Any, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The letters of the cost formulas in the block's docstring."""


examples: dict[str, Callable[[], Example]] = {}


def example(block: str, **sizes: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function of the sizes that gives the settings of a block and the inputs of a call."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        def made() -> Example:
            settings, inputs = function(**sizes)
            return Example(settings, inputs, sizes)

        examples[block] = made
        return function

    return enter
