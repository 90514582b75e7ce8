"""What probes measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gradlab.diagnosis.record.site import Site


@dataclass(kw_only=True)
class Probed:
    """What short extra runs on copies told; None where a probe was not made."""

    @dataclass(kw_only=True)
    class Mixing:
        """Whether an example's output depends on the others of its batch, in evaluation mode."""

        root: str
        change: float
        """How much outputs change when only other rows do, relative to the largest of them."""
        rows: float
        """The share of the outputs that change."""
        order: float | None
        """How much outputs change with the order of the rows; None where chance has a part in them."""
        company: str
        """With whom rows are seen: `new` (shuffled), `same` (always the same batches), `all` (one batch), `unknown`."""
        through: str = ""
        """A module that was told to take the first axis for time: its path and kind."""
        doubt: str = ""
        """Why rows may belong together."""

    @dataclass(kw_only=True)
    class Modes:
        """The loss of one batch with the weights of the end, in both modes."""

        root: str
        train: float
        evaluated: float
        start: float
        """With the first weights, as it was trained."""
        culprit: str = ""
        """The module whose mode alone makes most of the difference, and what it is: norm, noise, or branch."""
        cause: str = ""
        agree: float = 0.0
        """How much the outputs of both modes say the same: 1 is a rescaling."""
        settled: float = math.nan
        """Batch norm: the share of the first statistics that is forgotten."""

    @dataclass(kw_only=True)
    class Slope:
        """An autograd function of the user's, against numeric differences."""

        name: str
        site: Site | None
        argument: int
        checked: int
        """Places of the argument that were compared,"""
        wrong: int
        """those where both slopes are there and differ,"""
        passed: int
        """where only backward has one (as in a straight-through estimator),"""
        stopped: int
        """and where only the function itself has one."""
        example: tuple[float, float] = (math.nan, math.nan)
        """Backward's and the numeric slope, where they differ most."""
        ratio: float = math.nan
        """Of the two, where it is the same everywhere."""
        meant: str = ""
        """Why that is most probably meant: `identity`, `steps`, `scaled`."""

    by_heart: tuple[float, float, int] | None = None
    """One batch learnt by heart: loss before and after, and the steps it took."""
    future: float | None = None
    """How much outputs change with inputs after them, relative to their size; of models that predict the next."""
    copied: float | None = None
    """How much outputs at one place change with the input there, of models with a second input that is the target."""
    itself: float | None = None
    """The same of models of which it is the only input, and that see nothing of what comes after a place."""
    padded: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By root: the shares of places that are padding, and of the gradient by the inputs (its squares) on them."""
    mixing: list[Mixing] = field(default_factory=list)
    modes: list[Modes] = field(default_factory=list)
    slopes: list[Slope] = field(default_factory=list)
    """Those that differ, one for each argument of a function."""
    rates: dict[float, float] = field(default_factory=dict)
    """The loss of one batch after a few steps at several rates, infinite where it shot up."""
    rate: tuple[float, float, int] | None = None
    """Of the same: the script's own rate, the loss before any step, and the number of steps."""
    lines: dict[tuple[str, tuple[int, ...], int | None], Site] = field(default_factory=dict)
    """Where in the model operations are called, by name, shape of the result, and axis."""
    views: dict[tuple[tuple[int, ...], tuple[int, ...]], bool] = field(default_factory=dict)
    """Views of the model whose sizes look as if axes were mixed, by both shapes: whether they do with another batch."""
    cut: set[str] = field(default_factory=set)
    """Parameters that no gradient reaches, although they change what the loss is made of."""
    unused: set[str] = field(default_factory=set)
    """Parameters that change nothing of what the loss is made of."""
    first_loss: tuple[float, float, str] | None = None
    """The first loss, what a model that knows nothing would give, and by which loss function."""
