"""Steps from state to state, as the rows that a network learns from tell them: where episodes end, and where they are
cut off.

An end is a state that no step is taken from. In a world of cells, one that is often come to and never left; in a
continuous one, where each state is met once, a state that lies where none is that steps were taken from.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradlab.diagnosis.record import Transitions

_ROWS, _COLUMNS = 30_000, 128
_OFTEN, _BEYOND, _SHARE = 10, 8, 0.003
"""How often an end must be come to; how many must lie beyond all others, and as which share of all."""
_PAIRS, _CUTS, _SHORTEST = 3, 5, 5


class Table:
    """Rows of states and next states."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.float32], ...]] = []
        self._rows = 0

    def add(self, states: Tensor, after: Tensor, added: Tensor | None = None, reward: Tensor | None = None) -> None:
        """`added`: 1 where a next value is in the target, 0 where it is not, -1 where that is not known."""
        if self._rows >= _ROWS or states.shape != after.shape or states.ndim != 2 or states.shape[1] > _COLUMNS:
            return
        count = len(states)
        if added is not None and len(added) != count:
            return
        unknown = torch.full((count,), -1.0)
        columns = (states, after, unknown if added is None else added, unknown * 0 if reward is None else reward)
        self._parts.append(tuple(c.detach().float().cpu().clone().numpy() for c in columns))
        self._rows += count

    def observed(self) -> Transitions | None:
        if not self._parts:
            return None
        s, after, added, reward = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        _, ids = np.unique(np.concatenate([s, after]), axis=0, return_inverse=True)
        ids = ids.reshape(-1)
        one, two = ids[: len(s)], ids[len(s) :]
        pairs = np.unique(np.stack([one, two], 1), axis=0)
        ways = np.bincount(pairs[:, 1], minlength=ids.max() + 1)
        come_to = np.unique(two)
        # Rows of states and actions together do not come again, and tell nothing of states.
        table = (ways[come_to] > 1).mean() > 0.5 and np.isin(two, one).mean() > 0.3
        seen = Transitions(rows=len(s), states=len(np.unique(one)), table=bool(table))
        ends = self._never_left(one, two) if seen.table else self._beyond(s, after, seen)
        looked = added >= 0
        seen.ends = len(np.unique(two[ends]))
        seen.end_rows, seen.end_added = int((ends & looked).sum()), int((ends & (added == 1)).sum())
        if seen.table:
            self._cut_in_table(one, two, added, reward, seen)
        else:
            self._cut_after(one, two, (added == 0) & ~ends, seen)
        return seen

    @staticmethod
    def _never_left(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.bool_]:
        often = np.bincount(two) >= _OFTEN
        ends: NDArray[np.bool_] = ~np.isin(two, one) & often[two]
        return ends

    @staticmethod
    def _beyond(s: NDArray[np.float32], after: NDArray[np.float32], seen: Transitions) -> NDArray[np.bool_]:
        """Next states with a number larger, or smaller, than all that steps were taken from."""
        ends = np.zeros(len(s), bool)
        most = 0
        for column in range(s.shape[1]):
            here, there = s[:, column], after[:, column]
            # The numbers of a state come again when the next step is taken from it; those of actions do not.
            if np.isin(there, here).mean() < 0.3:
                continue
            for side in (1, -1):
                beyond = side * there > (side * here).max()
                count = len(np.unique(there[beyond]))
                if count < max(_BEYOND, _SHARE * len(np.unique(there))):
                    continue
                ends |= beyond
                if count > most:
                    most = count
                    farthest = float(side * (side * there).max())
                    seen.outside = column, float(here.min()), float(here.max()), farthest
        return ends

    @staticmethod
    def _cut_in_table(
        one: NDArray[np.int64],
        two: NDArray[np.int64],
        added: NDArray[np.float32],
        reward: NDArray[np.float32],
        seen: Transitions,
    ) -> None:
        """The same step with the same reward that ended here and went on there."""
        looked = added >= 0
        steps = np.stack([one, two, np.round(reward, 5).view(np.int32)], 1)[looked]
        _, kinds = np.unique(steps, axis=0, return_inverse=True)
        kinds = kinds.reshape(-1)
        if not len(kinds):
            return
        went, cut = (np.bincount(kinds, weights=added[looked] == value, minlength=kinds.max() + 1) for value in (1, 0))
        both = (went > 0) & (cut > 0)
        if both.sum() >= _PAIRS:
            seen.cut, seen.went_on, seen.cut_states = int(cut[both].sum()), int(went[both].sum()), int(both.sum())

    @staticmethod
    def _cut_after(one: NDArray[np.int64], two: NDArray[np.int64], cut: NDArray[np.bool_], seen: Transitions) -> None:
        """Episodes that all ended after the same number of steps: followed back from their last one."""
        before = dict(zip(two.tolist(), one.tolist(), strict=True))
        lengths = {
            last: _length(first, before) for first, last in zip(one[cut].tolist(), two[cut].tolist(), strict=True)
        }
        if len(lengths) < _CUTS:
            return
        longest = max(lengths.values())
        same = [last for last, length in lengths.items() if length == longest]
        if longest >= _SHORTEST and len(same) >= max(_CUTS, len(lengths) / 2):
            seen.after, seen.cut_states = longest, len(same)
            seen.cut = int(np.isin(two[cut], same).sum())


def _length(state: int, before: dict[int, int]) -> int:
    """Steps from the start of an episode to the end of the one that begins here."""
    count, met = 1, {state}
    while (earlier := before.get(state)) is not None and earlier not in met:
        state = earlier
        met.add(state)
        count += 1
    return count
