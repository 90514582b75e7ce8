"""Environments as data: what is acted in while training, and episodes by which a policy is judged."""

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import torch

from gradlab.data.dataset import Dataset, SplitSeed, sources
from gradlab.data.own import Ready
from gradlab.data.raw import Targets, UnsuitableData, Wants
from gradlab.environments import Environments, make, registry
from gradlab.registry import Count, Part
from gradlab.specs import Environment

# Seeds of each split lie apart, so that no episode that is judged was trained on.
_APART = 2**29


@dataclass(frozen=True)
class Acting:
    """The training split: an environment to act in, of which a task makes the stream of its batches.

    `Task.encoded(acting)` returns that stream, which has `open` copies in `Stream.start`, acts by the model, and keeps
    `Environments.snapshot` in its own. Its `steps_per_epoch` are the updates that `steps` steps of
    the environment make.
    """

    env: Part
    spec: Environment
    steps: int
    """Of all copies together, in the whole training."""
    copies: int
    workers: bool = False
    seed: int = 0
    device: torch.device = field(default=torch.device("cpu"))

    def open(self) -> Environments:
        return make(self.env, self.copies, workers=self.workers)

    def seed_of(self, training: int) -> int:
        """Where the seeds of a training begin, by that of its plan."""
        return (1_000_003 * training + 7919 * self.seed) % _APART


@dataclass(frozen=True)
class Episodes:
    """A held-out split: so many episodes, each of a seed of its own."""

    env: Part
    spec: Environment
    count: int
    seed: int

    def __len__(self) -> int:
        return self.count

    def open(self, copies: int = 1, render: bool = False) -> Environments:
        """Copies to play episode i in from the seed `seed` + i."""
        return make(self.env, copies, render=render)


class Splits(NamedTuple):
    """What a training acts in, and what it is judged by."""

    train: Acting
    validation: Episodes
    test: Episodes
    notes: list[str]


def acted_in(splits: Splits, wants: Wants | None = None, *, seed: SplitSeed = 0) -> Dataset:
    """An environment as a dataset, for tasks that act."""
    if wants != "environment":
        raise UnsuitableData(
            "is an environment, in which this task cannot act. Use task=ppo, dqn, sac, a2c or reinforce."
        )
    train, validation, test, notes = splits
    prepared = Ready(train.spec, f"environment {train.env.plain()}", notes)
    parts = {"train": train, "validation": validation, "test": test}
    return Dataset(**parts, raw=prepared, preprocessing=prepared, targets=Targets())


@sources.register("environment", shared=acted_in)
def environment(
    seed: int,
    *,
    env: Annotated[Part, registry, "one of ours, or of gymnasium's by its name there"] = Part("grid"),  # noqa: B008
    steps: Annotated[Count, "steps in the environment that are learned from"] = 100_000,
    copies: Annotated[Count, "of the environment, which are stepped together"] = 8,
    workers: Annotated[bool, "step each copy in a process of its own, which pays for slow environments"] = False,
    validation: Annotated[Count, "episodes by which the best weights are chosen"] = 20,
    test: Annotated[Count, "episodes of the final figures"] = 100,
) -> Splits:
    """An environment to act in. Held-out episodes begin from seeds that no training has."""
    env = Part.read(env, "data.env")
    one = make(env, 1, workers=workers)
    spec = Environment(one.observations, one.actions)
    one.close()
    where = " in processes of its own" if workers else ""
    notes = [] if one.exact else [f"{env.name}{where} cannot be put back: a resumed run begins new episodes."]
    return Splits(
        Acting(env, spec, steps, copies, workers, seed),
        Episodes(env, spec, validation, 2 * _APART + 10_000 * seed % _APART),
        Episodes(env, spec, test, 4 * _APART + 10_000 * seed % _APART),
        notes,
    )
