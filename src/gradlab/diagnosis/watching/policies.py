"""Policies: which actions were drawn and done, and of which ones the log-probability is in a loss."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradlab.diagnosis.record import Loss, Policy, Site
from gradlab.diagnosis.series import Series
from gradlab.diagnosis.watching.bootstraps import targets_in
from gradlab.diagnosis.watching.graph import upstream
from gradlab.diagnosis.watching.known import Stored
from gradlab.diagnosis.watching.operators import READING, Operators
from gradlab.diagnosis.watching.policy_losses import clipped_ratios, log_probabilities
from gradlab.diagnosis.watching.tensors import dense

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.reinforced import Given, Reinforced
    from gradlab.diagnosis.watching.watch import Watch

_ACTS, _WIDE, _RETURNS, _UNCLEAR = 20_000, 4096, 16, 3


@dataclass
class Act:
    """A call of a policy by which actions were drawn, one for each row."""

    number: int
    states: list[bytes]
    likeliest: list[int]
    draws: list[list[int]] = field(default_factory=list)
    done: list[list[int]] = field(default_factory=list)
    """Those of them that left torch, for an environment."""


class Policies:
    """By the line of their backward pass."""

    def __init__(self, watch: Watch, given: Reinforced):
        self.watch, self.given = watch, given
        self.known: dict[Site | None, Policy] = {}
        self.acts: dict[int, Act] = {}
        self.reading = Operators(watch, READING, self._left)
        self._drawn: Stored[tuple[Act, list[int]]] = Stored()
        self._likeliest: Stored[tuple[int, list[int]]] = Stored()
        """By the call they are of."""
        self._greedy: dict[int, list[int]] = {}
        """Most probable actions that left torch, by call."""
        self._places: dict[bytes, list[tuple[Act, int]]] = {}
        """In which acts each state was met."""
        self._inside: list[tuple[Tensor, Tensor]] = []
        self._learnt: dict[bytes, None] = {}
        self._again = False
        """Whether the present backward pass learns from rows that were learnt from before."""
        self._spread: list[float] = []
        self._brought: dict[int, tuple[Series, Series]] = {}

    @property
    def found(self) -> bool:
        return bool(self.known)

    # -- acting -----------------------------------------------------------------------------------------------------

    def choosing(self, function: Any) -> Any:
        """Around torch.multinomial, by which Categorical draws too, and around argmax."""
        tell = self._drew if function.__name__ == "multinomial" else self._preferred

        @functools.wraps(function)
        def choose(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if not torch.compiler.is_compiling() and self.watch.looking and self.watch.depth == 0:
                self.watch.safely(tell, args[0] if args else kwargs["input"], result)
            return result

        return choose

    def _drew(self, weights: Tensor, actions: Tensor) -> None:
        rows = weights.detach().reshape(-1, weights.shape[-1]).float()
        if actions.numel() != len(rows) or rows.shape[1] < 2:
            return
        if self.watch.calls.stack:  # the policy itself draws, and has not come to its end
            self._inside.append((rows, actions.detach()))
            return
        given = next((g for g in reversed(self.given.calls[-4:]) if _rows(g.inputs, len(rows)) is not None), None)
        if given is not None:
            self._draw(given, rows, actions)

    def called(self, given: Given) -> None:
        inside, self._inside = self._inside, []
        for rows, actions in inside:
            if _rows(given.inputs, len(rows)) is not None:
                self._draw(given, rows, actions)

    def _draw(self, given: Given, rows: Tensor, actions: Tensor) -> None:
        shares = rows / rows.sum(1, keepdim=True)
        entropy = -torch.xlogy(shares, shares).sum(1).mean() / math.log(rows.shape[1])
        self._spread.append(float(entropy))
        self.given.acted = self.watch.step
        act = self.acts.get(given.number) or self._new(given, rows)
        if act is not None:
            values = actions.reshape(-1).tolist()
            act.draws.append(values)
            self._drawn[actions] = act, values
            self.reading.put_in()

    def _preferred(self, scores: Tensor, actions: Tensor) -> None:
        given = self.given.calls[-1] if self.given.calls else None
        if given is not None and _rows(given.inputs, actions.numel()) is not None and actions.numel() <= _WIDE:
            self._likeliest[actions] = given.number, actions.reshape(-1).tolist()

    def _new(self, given: Given, rows: Tensor) -> Act | None:
        states = _prints(given.inputs, len(rows))
        if len(self._places) >= _ACTS or len(self.acts) >= _ACTS:  # of the last rollouts, not of the first
            self.acts, self._places, self._greedy = {}, {}, {}
            self._drawn.clear()
        act = self.acts[given.number] = Act(given.number, states, rows.argmax(1).tolist())
        for row, state in enumerate(states):
            places = self._places.setdefault(state, [])
            if len(places) < _UNCLEAR:
                places.append((act, row))
        return act

    def _left(self, tensor: Tensor, *_: Any) -> None:
        """Numbers leave torch: drawn actions, or the most probable ones."""
        drawn, preferred = self._drawn.get(tensor), self._likeliest.get(tensor)
        if drawn is not None:
            act, values = drawn
            if not any(values is one for one in act.done):
                act.done.append(values)
        elif preferred is not None:
            number, values = preferred
            self._greedy[number] = values

    # -- learning -----------------------------------------------------------------------------------------------------

    def look(self, loss: Loss, operations: list[Any]) -> None:
        spread, self._spread = self._spread, []
        if self.watch.saved_hooks or len(operations) > 20_000:
            return
        scores = log_probabilities(operations)
        if not scores and not any(True for _ in clipped_ratios(operations)):
            return
        step = self.watch.step
        policy = self.known.get(loss.site)
        if policy is None:
            policy = self.known[loss.site] = Policy(site=loss.site, since=step)
            self.watch.record.policies.append(policy)
        if spread:
            policy.spread.add(step, sum(spread) / len(spread))
        for ratio in clipped_ratios(operations):
            policy.clamped = True
            if step > self.given.acted and self._again:
                policy.ratios.add(step, float((ratio.detach() - 1).abs().amax()))
        self._compare(policy, scores)
        self._returns(operations, sum(index.numel() for _, index in scores), policy.clamped)

    def learns(self, inputs: list[Tensor]) -> None:
        """A backward pass, from rows that an earlier one may have had too: then the policy has changed since."""
        if not any(policy.clamped for policy in self.known.values()) and not self.watch.looking:
            return
        rows = {row for one in inputs if one.ndim > 1 and dense(one) for row in _prints(one.detach(), len(one))}
        self._again = bool(rows) and len(rows & self._learnt.keys()) > 0.9 * len(rows)
        self._learnt |= dict.fromkeys(rows)
        for old in list(islice(self._learnt, max(0, len(self._learnt) - _ACTS))):
            del self._learnt[old]

    def _compare(self, policy: Policy, scores: list[tuple[Any, Tensor]]) -> None:
        """What is scored with what was done in the same call, or in the same state."""
        linked = [link for node, index in scores for link in self._linked(node, index)]
        scored: dict[int, list[list[int]]] = {}
        for act, rows, index in linked:
            if rows is None:
                scored.setdefault(act.number, []).append(index)
        for act, rows, index in linked:
            done = self._done(act, scored.get(act.number, []))
            for i, action in enumerate(index):
                row = i if rows is None else rows[i]
                policy.scored += 1
                if all(one[row] != action for one in done):
                    policy.others += 1
                    policy.greedy += act.likeliest[row] == action
                    policy.drawn_anew += any(one[row] == action for one in act.draws)
                    if policy.others_since < 0:
                        policy.others_since = self.watch.step

    def _done(self, act: Act, scored: list[list[int]]) -> list[list[int]]:
        """What an environment was given: what has left torch. Where nothing has, the first draw; but where that one is
        scored, or scores are of another call, all draws: those of a policy with several heads."""
        if act.done:
            return act.done
        if act.number in self._greedy:
            return [self._greedy[act.number]]
        return act.draws[:1] if scored and act.draws[0] not in scored else act.draws

    def _linked(self, node: Any, index: Tensor) -> Iterator[tuple[Act, list[int] | None, list[int]]]:
        """The act that the scored probabilities come from; else those that met the same states."""
        number = self._source(node)
        actions = index.reshape(-1).tolist()
        if number is None:
            return
        own = self.acts.get(number)
        given = next((g for g in self.given.calls if g.number == number), None)
        states = own.states if own else [] if given is None else _prints(given.inputs, len(actions))
        if len(states) != len(actions):
            return
        met = [(place, action) for s, action in zip(states, actions, strict=True) if (place := self._place(s))]
        if len(met) >= 0.9 * len(actions) and not any(act is own for (act, _), _ in met):
            for (act, row), action in met:
                yield act, [row], [action]
        elif own is not None:
            yield own, None, actions

    def _place(self, state: bytes) -> tuple[Act, int] | None:
        """The only act in a state, or the only one by which something was done there; None if that is not clear."""
        all_of_them = self._places.get(state, [])
        done = [place for place in all_of_them if self._left_torch(place[0])] or all_of_them
        return done[0] if len(done) == 1 else None

    def _left_torch(self, act: Act) -> bool:
        return bool(act.done) or act.number in self._greedy

    def _source(self, node: Any) -> int | None:
        numbers = (self.given.number_of(one) for one in upstream(node, 200))
        return next((number for number in numbers if number is not None), None)

    def _returns(self, operations: list[Any], count: int, clamped: bool) -> None:
        """Means of what as many values are to become as there are scores, and of what was put together with as many
        others, among which are the returns; but not of old log-probabilities, where there are some."""
        targets = [y for _, y in targets_in(operations, self.given)]
        known = targets or ([] if clamped else self.given.operands)
        fitting = [one for one in known if one.numel() == count > 1 and one.is_floating_point()]
        for place, numbers in enumerate(fitting[:_RETURNS]):
            std, mean = torch.std_mean(numbers.float(), correction=0)
            means, stds = self._brought.setdefault(place, (Series(), Series()))
            means.add(self.watch.step, float(mean))
            stds.add(self.watch.step, float(std))

    def finish(self) -> None:
        """The first of the numbers that actions are judged by which is not centred."""
        looks = max((len(means) for means, _ in self._brought.values()), default=0)
        for means, stds in self._brought.values():
            away = [abs(m) > 0.1 * s > 0 for m, s in zip(means.values, stds.values, strict=True)]
            if looks and len(means) >= 0.8 * looks and sum(away) > 0.7 * len(away):
                for policy in self.known.values():
                    policy.brought, policy.deviation = means, stds
                return


def _rows(inputs: Tensor, count: int) -> Tensor | None:
    """An input as so many rows, if it has them."""
    if inputs.ndim <= 1:
        return inputs.reshape(1, -1) if count == 1 else inputs.reshape(-1, 1) if inputs.numel() == count else None
    for axes in range(1, inputs.ndim + 1):
        if math.prod(inputs.shape[:axes]) == count:
            return inputs.reshape(count, math.prod(inputs.shape[axes:]))
    return None


def _prints(inputs: Tensor, count: int) -> list[bytes]:
    rows = _rows(inputs, count)
    if rows is None:
        return []
    first = rows[:, :_WIDE].detach().cpu().contiguous()
    numbers = first.float() if first.dtype == torch.bfloat16 else first  # NumPy has no bfloat16; float32 holds it
    return [row.tobytes() for row in numbers.numpy()]
