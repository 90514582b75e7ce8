"""Streams of what is learned from on tables: steps and episodes of a policy that explores, or the tables themselves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.data import Acting, Batch, Stream
from gradlab.environments.tabular import TableEnvironments
from gradlab.maths.decisions import DecisionProcess
from gradlab.maths.returns import discounted_returns
from gradlab.tasks.playing.play import Ongoing, updates_of


def known_process(acting: Acting) -> DecisionProcess | None:
    """The tables of an environment, where it is made of them."""
    one = acting.open()
    process = one.process if isinstance(one, TableEnvironments) else None
    one.close()
    return process


def explored(model: Any, observed: Any, epsilon: float) -> Tensor:
    """The best action that is known, of equal ones any; with probability `epsilon` any action at all."""
    q = model(torch.as_tensor(observed))
    count, actions = q.shape
    drawn = torch.rand(count, actions + 2)
    best = torch.where(q == q.amax(-1, keepdim=True), drawn[:, :actions], -1.0).argmax(-1)
    anything = (drawn[:, -2] * actions).long()
    return torch.where(drawn[:, -1] < epsilon, anything, best)


class Explored(Stream):
    """Acts by the model, and sometimes otherwise."""

    def __init__(self, acting: Acting, discount: float, epsilon: float):
        self.acting, self.discount, self.epsilon = acting, discount, epsilon
        self.batch_size, self.seed = acting.copies, 0

    def planned(self, batch_size: int | str, seed: int) -> "Explored":
        self.seed = self.acting.seed_of(seed)
        return self

    def start(self, model: nn.Module) -> None:
        self.model = model
        self.ongoing = Ongoing(self.acting)

    def figures(self) -> dict[str, float]:
        return self.ongoing.figures()


class ExploredSteps(Explored):
    """A batch is one step in each copy, with the action that comes after it."""

    def __init__(self, acting: Acting, discount: float, epsilon: float):
        super().__init__(acting, discount, epsilon)
        self.steps_per_epoch = updates_of(acting, acting.copies, 1)
        self.next_actions = torch.empty(0, dtype=torch.int64)

    def batches(self, step: int) -> Iterator[Batch]:
        if step == 0:
            self.ongoing.begin(self.seed)
            self.next_actions = explored(self.model, self.ongoing.observed, self.epsilon)
        while True:
            yield self._step()

    def _step(self) -> Batch:
        observed, actions = torch.tensor(self.ongoing.observed), self.next_actions
        step = self.ongoing.step(actions)
        after = explored(self.model, step.final_observations, self.epsilon)
        # A new episode begins with an action of its own; the one after a limit of time is only thought of.
        self.next_actions = after
        if step.over.any():
            first = explored(self.model, step.observations, self.epsilon)
            self.next_actions = torch.where(torch.from_numpy(step.over), first, after)
        return {
            "observations": observed,
            "actions": actions,
            "rewards": torch.from_numpy(step.rewards),
            "next_observations": torch.from_numpy(step.final_observations),
            "next_actions": after,
            "ended": torch.from_numpy(step.ended),
        }

    def snapshot(self) -> dict[str, Any]:
        return {"ongoing": self.ongoing.snapshot(), "next": self.next_actions} if len(self.next_actions) else {}

    def restore(self, snapshot: dict[str, Any]) -> None:
        if snapshot:
            self.next_actions = snapshot["next"]
            self.ongoing.restore(snapshot["ongoing"], self.seed)


class ExploredEpisodes(Explored):
    """A batch is an episode in each copy, with axes for time and copies; `seen` says where it was not over yet."""

    def __init__(self, acting: Acting, discount: float, epsilon: float, length: int):
        super().__init__(acting, discount, epsilon)
        self.length, self.steps_per_epoch = length, updates_of(acting, acting.copies * length, 1)

    def batches(self, step: int) -> Iterator[Batch]:
        while True:
            yield self._episodes(step)
            step += 1

    def _episodes(self, number: int) -> Batch:
        self.ongoing.begin(self.seed + number * self.acting.copies)
        seen, rows = np.ones(self.acting.copies, dtype=bool), []
        for _ in range(self.length):
            observed = torch.tensor(self.ongoing.observed)
            actions = explored(self.model, observed, self.epsilon)
            step = self.ongoing.step(actions)
            rewards = torch.from_numpy(step.rewards * seen)
            rows.append((observed, actions, rewards, torch.from_numpy(seen)))
            seen = seen & ~step.over
            if not seen.any():
                break
        names = ("observations", "actions", "rewards", "seen")
        batch = {name: torch.stack(parts) for name, parts in zip(names, zip(*rows, strict=True), strict=True)}
        return {**batch, "returns": discounted_returns(batch["rewards"], self.discount)}

    def snapshot(self) -> dict[str, Any]:
        return {"ongoing": self.ongoing.snapshot()} if hasattr(self.ongoing, "observed") else {}

    def restore(self, snapshot: dict[str, Any]) -> None:
        if snapshot:
            self.ongoing.restore(snapshot["ongoing"], self.seed)


class Sweeps(Stream):
    """A batch is all states, with their rows of the tables."""

    def __init__(self, acting: Acting, discount: float, process: DecisionProcess, sweeps: int):
        self.acting, self.discount, self.steps_per_epoch, self.batch_size = acting, discount, sweeps, process.states
        self.batch = {"transition": process.transition, "rewards": process.rewards}

    def peek(self) -> Batch:
        return self.batch

    def batches(self, step: int) -> Iterator[Batch]:
        while True:
            yield self.batch
