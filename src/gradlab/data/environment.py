"""Environments as data: what is acted in while training, and episodes by which a policy is judged."""

from dataclasses import dataclass, field
from typing import Annotated

import torch

from gradlab.data.dataset import Dataset, sources
from gradlab.data.own import Ready, seeded
from gradlab.data.raw import Targets
from gradlab.environments import Environments, make, registry
from gradlab.registry import Count, Natural, Part
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
    workers: int = 0
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


@sources.register("environment", shared=seeded)
def environment(
    seed: int,
    *,
    env: Annotated[Part, registry, "one of ours, or of gymnasium's by its name there"] = Part("CartPole-v1"),  # noqa: B008
    steps: Annotated[Count, "steps in the environment that are learned from"] = 100_000,
    copies: Annotated[Count, "of the environment, which are stepped together"] = 8,
    workers: Annotated[Natural, "processes that step slow environments; 0: this one"] = 0,
    validation: Annotated[Count, "episodes by which the best weights are chosen"] = 20,
    test: Annotated[Count, "episodes of the final figures"] = 100,
) -> Dataset:
    """An environment to act in. Held-out episodes begin from seeds that no training has."""
    one = make(env, 1)
    spec = Environment(one.observations, one.actions)
    one.close()
    notes = [] if one.exact else [f"{env.name} cannot be put back: a resumed run begins new episodes."]
    prepared = Ready(spec, f"environment {env.plain()}", notes)
    return Dataset(
        train=Acting(env, spec, steps, copies, workers, seed),
        validation=Episodes(env, spec, validation, 2 * _APART + 10_000 * seed % _APART),
        test=Episodes(env, spec, test, 4 * _APART + 10_000 * seed % _APART),
        raw=prepared,
        preprocessing=prepared,
        targets=Targets(),
    )
