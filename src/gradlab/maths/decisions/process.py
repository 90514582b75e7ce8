"""A Markov decision process with finitely many states and actions, as tables."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor

_TOLERANCE = 1e-6


class DecisionProcess:
    r"""In a state s one takes an action a, comes to s' and gets a reward.

    $$ P_{s a s'} = P[S_{t+1} = s' \mid S_t = s, A_t = a], \qquad \sum_{s'} P_{s a s'} = 1 $$

    Rewards have the axes (state, action) or (state, action, next state). Where an episode is over is seen from the
    tables: a state that no action leaves and that pays nothing is *final*. `start` is the first state, or its law.

    >>> walk = DecisionProcess([[[0.0, 1.0]], [[0.0, 1.0]]], [[5.0], [0.0]], discount=0.9)
    >>> walk.final
    tensor([False,  True])
    """

    def __init__(self, transition: Any, rewards: Any, discount: float = 1.0, start: Any = 0):
        self.transition = tensor(transition)
        _check_transition(self.transition)
        self.states, self.actions, _ = self.transition.shape
        self.rewards = self._every_reward(tensor(rewards).to(self.transition))
        self.discount = checked_discount(discount)
        self.start = self._law_of(start)

    @property
    def mean_rewards(self) -> Float[Tensor, "states actions"]:
        r"""$R_{s a} = \sum_{s'} P_{s a s'} r_{s a s'}$"""
        return (self.transition * self.rewards).sum(-1)

    @property
    def final(self) -> Bool[Tensor, " states"]:
        """States in which nothing happens any more."""
        stays = torch.einsum("sas->sa", self.transition) == 1
        return (stays & (self.mean_rewards == 0)).all(1)

    def under(self, policy: Float[Tensor, "states actions"]) -> tuple[Tensor, Tensor]:
        r"""The Markov chain that a policy makes of it, and its mean rewards.

        $$ P^\pi_{s s'} = \sum_a \pi(a \mid s) P_{s a s'}, \qquad R^\pi_s = \sum_a \pi(a \mid s) R_{s a} $$
        """
        self.check_policy(policy)
        return torch.einsum("sa,saz->sz", policy, self.transition), (policy * self.mean_rewards).sum(1)

    def check_policy(self, policy: Tensor) -> None:
        """Refuse a table whose rows are no distributions over the actions."""
        if policy.shape != (self.states, self.actions):
            wanted, got = (self.states, self.actions), tuple(policy.shape)
            raise GradlabError(f"A policy has a row for each state and a column for each action, {wanted}, got {got}.")
        _check_rows(policy, "The policy", "a distribution over the actions")

    def _every_reward(self, rewards: Tensor) -> Tensor:
        shape = tuple(self.transition.shape)
        if tuple(rewards.shape) not in (shape, shape[:2]):
            raise GradlabError(
                f"Rewards have the axes (state, action), {shape[:2]}, or also the next state, {shape}; "
                f"got {tuple(rewards.shape)}."
            )
        if not bool(rewards.isfinite().all()):
            raise GradlabError("Rewards must be finite numbers.")
        return rewards if rewards.ndim == 3 else rewards[..., None].expand(shape)

    def _law_of(self, start: Any) -> Tensor:
        if isinstance(start, int):
            if not 0 <= start < self.states:
                raise GradlabError(f"States are 0 to {self.states - 1}; an episode cannot start in {start}.")
            return torch.eye(self.states).to(self.transition)[start]
        law = tensor(start).to(self.transition)
        if law.shape != (self.states,):
            raise GradlabError(f"start must be a state or {self.states} probabilities, got {tuple(law.shape)}.")
        _check_rows(law[None], "start", "a distribution over the states")
        return law

    def __repr__(self) -> str:
        return f"DecisionProcess(states={self.states}, actions={self.actions}, discount={self.discount:g})"


def checked_discount(discount: float) -> float:
    """A discount as a number from 0 to 1."""
    if not 0 <= discount <= 1:
        raise GradlabError(f"The discount must be from 0 to 1, got {discount:g}: a later reward counts no more.")
    return float(discount)


def _check_transition(transition: Tensor) -> None:
    if transition.ndim != 3 or transition.shape[0] != transition.shape[2] or 0 in transition.shape:
        got = tuple(transition.shape)
        raise GradlabError(f"transition must have the axes (state, action, next state), got the shape {got}.")
    _check_rows(transition, "transition", "a distribution over the next state")


def _check_rows(table: Tensor, name: str, meaning: str) -> None:
    """Refuse the first row of the last axis that is no distribution, with its place."""
    sums, lowest = table.sum(-1), table.amin(-1)
    wrong = ~((sums - 1).abs() < _TOLERANCE) | ~(lowest >= 0)
    if bool(wrong.any()):
        place = tuple(wrong.nonzero()[0].tolist())
        what = f"has the entry {float(lowest[place]):g}" if lowest[place] < 0 else f"sums to {float(sums[place]):g}"
        words = ", ".join(f"{axis} {i}" for axis, i in zip(("state", "action"), place, strict=False))
        raise GradlabError(f"{name}: the row of {words} {what}; each row must be {meaning}.")
