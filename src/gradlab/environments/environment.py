"""Copies of an environment that are stepped together: what acts in them sees arrays with a row for each copy."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gradlab.errors import GradlabError, TrainingError, unknown
from gradlab.registry import Part, Registry, shortly
from gradlab.specs import Box, Discrete, Spec

Array = npt.NDArray[Any]


class Step(NamedTuple):
    """What an action in each copy led to.

    A copy whose episode is over has begun the next one: `observations` has its first observation, while the last one of
    the episode that is over is in `final_observations`, which are otherwise the same rows. An episode is over because
    it `ended`, after which there is no reward to be had, or because it was `truncated`, as by a limit of time: what
    would have come then is not 0, and must be estimated.
    """

    observations: Array
    rewards: Array
    ended: Array
    truncated: Array
    final_observations: Array

    @property
    def over(self) -> Array:
        """Which episodes are."""
        over: Array = self.ended | self.truncated
        return over


class Environments:
    """So many copies of one environment, each with a generator of its own."""

    num: int
    """Copies."""
    observations: Spec
    """What is observed of one: an array of numbers, or the number of a state (`Discrete`)."""
    actions: Discrete | Box
    """What can be done in one."""
    exact: bool = False
    """Whether `restore` puts it back bit for bit."""

    def reset(self, seed: int) -> Array:
        """Begin an episode in each copy, copy i with the generator of seed + i; the first observations."""
        raise NotImplementedError

    def step(self, actions: Array) -> Step:
        """Take an action in each copy; episodes that are over begin anew."""
        raise NotImplementedError

    def snapshot(self) -> dict[str, Any]:
        """What the next steps depend on, as numbers, text and tensors; where it is not `exact`, nothing."""
        return {}

    def restore(self, snapshot: dict[str, Any]) -> Array:
        """Stand where the snapshot was taken; what is observed there. Only where it is `exact`."""
        raise NotImplementedError

    def render(self, copy: int = 0) -> Array | str:
        """One copy as an RGB picture, (height, width, 3) of bytes, or as text."""
        raise GradlabError(f"{type(self).__name__} cannot be drawn.")

    def close(self) -> None:
        """Let go of processes and windows."""


class EnvironmentRegistry(Registry[Environments]):
    """Our own by name, with their knobs; a name that is none of ours may be one of gymnasium's, which have none."""

    def spelled(self, name: str) -> str:
        from gradlab.environments import gym

        if name in self:
            return super().spelled(name)
        if not gym.installed():
            message = str(unknown(self.kind, name, self))
            raise GradlabError(f"{message} Those of gymnasium need the extra rl: pip install 'gradlab[rl]'")
        if name not in (names := gym.names()):
            raise unknown(self.kind, name, [*self, *names])
        return name

    def __getitem__(self, name: str) -> Any:
        from gradlab.environments import gym

        return super().__getitem__(name) if name in self else gym.builder(self.spelled(name))

    def build(self, part: Part, *args: Any) -> Environments:
        """Copies, which a builder may give as a list of environments that are gymnasium's in kind."""
        from gradlab.environments import gym

        built: Any = super().build(part, *args)
        if isinstance(built, list) and built and all(hasattr(one, "step") and hasattr(one, "reset") for one in built):
            built = gym.InProcess(part.name, built)
        if isinstance(built, Environments) and args and built.num != args[0]:
            raise GradlabError(f"The environment {part.name!r} must give {args[0]} copies, but it gave {built.num}.")
        if not isinstance(built, Environments):
            raise GradlabError(
                f"The environment {part.name!r} must give an Environments or a list of gymnasium.Env, but it gave "
                f"{shortly(built)}."
            )
        return built


registry = EnvironmentRegistry("environment")
"""Builders take the number of copies; keyword-only arguments are knobs."""


def make(part: Part | str, num: int, *, workers: bool = False, render: bool = False) -> Environments:
    """Copies of the environment of that name: one of ours, or else one of gymnasium's.

    With `workers` each copy that is gymnasium's in kind is stepped in a process of its own; ours need none. Only what
    is made to `render` can be drawn.
    """
    from gradlab.environments import gym

    part = registry.resolve(Part.read(part, "environment"), "environment")
    if part.name in registry:
        built = registry.build(part, 1 if workers else num)
        if not workers:
            return built
        if isinstance(built, gym.InProcess):
            return gym.InWorkers(part.name, num, lambda: registry.build(part, 1).copies[0])  # type: ignore[attr-defined]
        return registry.build(part, num)
    theirs: Environments = registry[part.name](num, workers, render)
    return theirs


def check_step(step: Step, name: str) -> Step:
    """Refuse an environment whose rewards or ends are not one for each copy, or whose numbers are not finite."""
    copies = len(step.final_observations)
    for what, array in (("rewards", step.rewards), ("ends of episodes", step.over)):
        if array.shape != (copies,):
            raise TrainingError(
                f"The environment {name} gave {what} of the shape {array.shape[1:]}: each step has one number of them. "
                "Fix the environment."
            )
    if not np.isfinite(step.rewards).all():
        raise TrainingError(f"The environment {name} gave a reward that is no finite number. Mend the environment.")
    check_observations(step.final_observations, name)
    if step.observations is not step.final_observations:
        check_observations(step.observations, name)
    return step


def check_observations(observations: Array, name: str) -> Array:
    """The same of what is observed."""
    if observations.dtype.kind == "f" and not np.isfinite(observations).all():
        raise TrainingError(
            f"The environment {name} gave an observation with NaN or infinity in it. Mend the environment."
        )
    return observations
