"""Bandits: one state, some arms, and a noisy reward for the arm that is pulled."""

from typing import Annotated

import torch

from gradlab.environments.environment import Environments, registry
from gradlab.environments.tabular import TableEnvironments
from gradlab.maths.decisions import DecisionProcess
from gradlab.registry import Count, NonNegative


def bandit_process(means: tuple[float, ...]) -> DecisionProcess:
    """A step from the one state to the end, by any of the arms."""
    arms = len(means)
    transition = torch.zeros(2, arms, 2, dtype=torch.float64)
    transition[..., 1] = 1.0
    return DecisionProcess(transition, torch.stack([torch.tensor(means).double(), torch.zeros(arms).double()]))


@registry.register("bandit")
def bandit(
    num: int,
    *,
    arms: Annotated[Count, "of which the last is the best: their mean rewards are evenly spaced from 0 to 1"] = 10,
    noise: Annotated[NonNegative, "standard deviation of a reward around the mean of its arm"] = 1.0,
) -> Environments:
    """Pull one of some arms; every episode is one step."""
    means = tuple(torch.linspace(0, 1, arms).tolist()) if arms > 1 else (1.0,)
    return TableEnvironments(bandit_process(means), num, limit=1, noise=noise)
