"""Learning from what actions brought: values that rest on values of next states, and policies that score actions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gradlab.diagnosis.record.site import Site
from gradlab.diagnosis.series import Series


@dataclass(kw_only=True)
class Bootstrap:
    """Targets that were found to be y = r + discount · m · v, with v from a network's output on other rows than those
    the prediction is of (next states), and m 0 or 1."""

    site: Site | None
    """Of the backward pass."""
    online: str
    """The root that predicts, and the one whose values are in the targets; the same where there is but one."""
    target: str
    discount: float
    since: int
    rows: int = 0
    """At looks; those of them with m = 0, where nothing was added to the reward."""
    masked: int = 0
    steps: int = 0
    """Backward passes with values of this target, and the step of the last one."""
    until: int = 0
    compared: int = 0
    """Looks at which the weights of both networks were compared; those with equal ones,"""
    equal: int = 0
    moved: int = 0
    """and those at which the target's were others than when they were first seen."""
    transitions: Transitions | None = None


@dataclass(kw_only=True)
class Transitions:
    """What the rows that a network learnt from and those it took next values of say of how episodes ended."""

    rows: int
    states: int
    """Different states that were learnt from."""
    table: bool
    """Whether most states are come to from several others, as the cells of a grid are; else all are met once."""
    ends: int = 0
    """Different next states that no step was ever taken from, and not by chance,"""
    end_rows: int = 0
    """how many rows of looks came to one, and in how many of these its value was added to the reward."""
    end_added: int = 0
    outside: tuple[int, float, float, float] | None = None
    """Where that is how they are known: the column, the range of it that steps were taken from, and the farthest."""
    cut: int = 0
    """Rows of looks without a next value, though their episode could have gone on: in a table, since the same step
    with the same reward went on at other times; else, since so many steps had been made, no more and no fewer."""
    cut_states: int = 0
    after: int | None = None
    """So many steps."""
    went_on: int = 0
    """In a table: rows of the same steps that did go on."""


@dataclass(kw_only=True)
class Policy:
    """A loss in which log-probabilities of actions are multiplied by how good these were."""

    site: Site | None
    since: int
    spread: Series = field(default_factory=Series)
    """Entropy of the probabilities that actions were drawn by, as a share of that of equal ones."""
    brought: Series = field(default_factory=Series)
    """The mean of the returns that actions are judged by, where these are not centred; with their deviation."""
    deviation: Series = field(default_factory=Series)
    scored: int = 0
    """Actions whose log-probability is in a loss, of which it is known what was done in that state,"""
    others: int = 0
    """and those of them that are not what was done there."""
    others_since: int = -1
    greedy: int = 0
    """Of these, scored ones that were the most probable."""
    drawn_anew: int = 0
    """And those that were drawn from the same probabilities once more."""
    ratios: Series = field(default_factory=Series)
    """How far the ratios to old probabilities were from 1 at most, at looks at which the policy had been updated since
    it last acted."""
    clamped: bool = False
    """Whether these ratios are clipped."""

    @property
    def range_of_ratios(self) -> float:
        return self.ratios.largest if self.ratios else math.nan
