"""All that can happen in an episode, with its probability: for processes so small that it can be listed."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.decisions.process import DecisionProcess

_MOST_PATHS = 2**20


class Paths(NamedTuple):
    """Episodes as rows, with an entry for each step; `states` has the state after the last step too."""

    probabilities: Float[Tensor, " paths"]
    states: Int[Tensor, "paths times"]
    actions: Int[Tensor, "paths steps"]
    rewards: Float[Tensor, "paths steps"]


def all_paths(process: DecisionProcess, policy: Float[Tensor, "states actions"], steps: int) -> Paths:
    r"""Every way that so many steps can go, with its probability.

    $$ P[s_0, a_0, s_1, \dots] = \rho_{s_0} \prod_t \pi(a_t \mid s_t) P_{s_t a_t s_{t+1}} $$

    After a final state all rewards are 0, so that an expectation over all paths is one over whole episodes.
    """
    process.check_policy(policy)
    first = process.start.nonzero().flatten()
    paths = Paths(
        process.start[first], first[:, None], first.new_zeros(len(first), 0), process.start.new_zeros(len(first), 0)
    )
    for _ in range(steps):
        paths = _one_step_longer(process, policy, paths)
        if len(paths.probabilities) > _MOST_PATHS:
            raise GradlabError(f"all_paths: more than {_MOST_PATHS:,} paths. Take fewer steps or a smaller process.")
    return paths


def _one_step_longer(process: DecisionProcess, policy: Tensor, paths: Paths) -> Paths:
    now = paths.states[:, -1]
    going_on = paths.probabilities[:, None, None] * policy[now][..., None] * process.transition[now]
    path, action, after = (going_on.detach() > 0).nonzero().unbind(1)
    return Paths(
        going_on[path, action, after],
        torch.cat([paths.states[path], after[:, None]], 1),
        torch.cat([paths.actions[path], action[:, None]], 1),
        torch.cat([paths.rewards[path], process.rewards[now[path], action, after][:, None]], 1),
    )
