"""A trained policy at play: episode after episode, with what is seen of it."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from gradlab.data import Episodes
from gradlab.environments.environment import Array, check_step
from gradlab.errors import GradlabError
from gradlab.models.policies import Policy
from gradlab.models.policies.policy import in_bounds
from gradlab.nn.modes import evaluating
from gradlab.tasks.playing.play import LONGEST

if TYPE_CHECKING:
    from gradlab.run.folder import Run


@dataclass(frozen=True)
class Moment:
    """One step of an episode: the observation and frame before it, and the sum of rewards and the steps after it.

    Where an episode is over, environments that are drawn as text show its end too.
    """

    episode: int
    observations: Array
    frames: list[Array | str]
    total: float
    length: int
    over: bool


def check_acts(run: "Run") -> Policy:
    """The policy of a run, refused where its model does not act."""
    split = run.dataset.test
    if not isinstance(split, Episodes) or not isinstance(run.model, Policy):
        use = run.task.use
        advice = f"Use it by gradlab {use}." if use else "See its report.html."
        raise GradlabError(f"{run.path} is of task={run.recipe.task.name}, whose model does not act. {advice}")
    return run.model


@torch.no_grad()
def moments(
    run: "Run", episodes: int, seed: int = 0, *, render: bool, split: Episodes | None = None
) -> Generator[Moment, None, None]:
    """Greedy episodes, each from a seed of its own that no training has; by default those of the test split.

    With `render` each moment has a frame: a picture, or text.
    """
    policy, split = check_acts(run), split or run.dataset.test
    assert isinstance(split, Episodes)
    device = next((p.device for p in policy.parameters()), torch.device("cpu"))
    copy: Any = split.open(1, render=render)
    try:
        with evaluating(policy):
            for episode in range(episodes):
                observed, total = copy.reset(split.seed + seed + episode), 0.0
                for length in range(1, LONGEST + 1):
                    frames = [copy.render()] if render else []
                    actions = in_bounds(policy.act(torch.as_tensor(observed, device=device)), copy.actions)
                    step = check_step(copy.step(actions), split.env.name)
                    before, observed, total = observed, step.observations, total + float(step.rewards[0])
                    over = bool(step.over[0]) or length == LONGEST
                    if over and frames and isinstance(frames[0], str):
                        frames.append(copy.render())
                    yield Moment(episode, before, frames, total, length, over)
                    if over:
                        break
    finally:
        copy.close()
