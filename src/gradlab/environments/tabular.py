"""Copies of a Markov decision process that is a table, stepped together by a few operations on arrays."""

import json
from typing import Any

import numpy as np
import torch

from gradlab.environments.environment import Array, Environments, Step
from gradlab.errors import GradlabError
from gradlab.maths.decisions import DecisionProcess
from gradlab.specs import Discrete


class TableEnvironments(Environments):
    """What is observed is the number of the state. An episode ends in a final state, or is cut off after `limit` steps.

    Rewards have normal noise of standard deviation `noise`.
    """

    exact = True

    def __init__(self, process: DecisionProcess, num: int, limit: int, noise: float = 0.0):
        self.process, self.num, self.limit, self.noise = process, num, limit, noise
        self.observations, self.actions = Discrete(process.states), Discrete(process.actions)
        self._after, self._first = _cumulated(process.transition.numpy()), _cumulated(process.start.numpy())
        self._rewards, self._final = process.rewards.numpy(), process.final.numpy()
        if (self._final & (process.start.numpy() > 0)).any():
            raise GradlabError("An episode would be over before its first step: it may start in a final state.")

    def reset(self, seed: int) -> Array:
        self._generators = [np.random.default_rng(seed + copy) for copy in range(self.num)]
        self._elapsed = np.zeros(self.num, dtype=np.int64)
        self._seen = self._state = self._begun(np.zeros(self.num, dtype=np.int64), np.ones(self.num, dtype=bool))
        return self._state

    def step(self, actions: Array) -> Step:
        if actions.shape != (self.num,) or (actions < 0).any() or (actions >= self.process.actions).any():
            raise GradlabError(f"Actions are {self.num} numbers from 0 to {self.process.actions - 1}, got {actions}.")
        drawn = np.array([generator.random() for generator in self._generators])
        after = (self._after[self._state, actions] <= drawn[:, None]).sum(1)
        rewards = self._rewards[self._state, actions, after]
        if self.noise:
            rewards = rewards + self.noise * np.array([generator.standard_normal() for generator in self._generators])
        ended = self._final[after]
        over = ended | (self._elapsed + 1 >= self.limit)
        self._elapsed = np.where(over, 0, self._elapsed + 1)
        self._seen, self._state = after, self._begun(after, over)
        return Step(self._state, rewards, ended, over & ~ended, after)

    def _begun(self, states: Array, over: Array) -> Array:
        """The states, with a first one where an episode is over."""
        states = states.copy()
        for copy in np.flatnonzero(over):
            states[copy] = (self._first <= self._generators[copy].random()).sum()
        return states

    def snapshot(self) -> dict[str, Any]:
        generators = [generator.bit_generator.state for generator in self._generators]
        return {
            "state": torch.from_numpy(self._state.copy()),
            "elapsed": torch.from_numpy(self._elapsed.copy()),
            "generators": json.dumps(generators),  # as text: their whole numbers have 128 bits
        }

    def restore(self, snapshot: dict[str, Any]) -> Array:
        self.reset(0)
        self._state, self._elapsed = (snapshot[name].numpy().copy() for name in ("state", "elapsed"))
        for generator, state in zip(self._generators, json.loads(snapshot["generators"]), strict=True):
            generator.bit_generator.state = state
        self._seen = self._state
        return self._state

    def render(self, copy: int = 0) -> Array | str:
        """Where the last step led, also where an episode was over there."""
        return f"state {int(self._seen[copy])} of {self.process.states}"


def _cumulated(probabilities: Array) -> Array:
    """Sums of all up to each; the last is 1, so that rounding leads nowhere off the table."""
    sums: Array = probabilities.cumsum(-1)
    return sums / sums[..., -1:]
