"""The best policy of a process that is known: by iterating Bellman's operator, or by improving a policy."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.decisions.process import DecisionProcess
from gradlab.maths.decisions.values import action_values, bellman_optimal, policy_values

_TIE = 1e-9


class Solution(NamedTuple):
    """Values of the best policy, that policy, and how many iterations they took."""

    values: Tensor
    policy: Tensor
    iterations: int


def greedy_policy(actions: Float[Tensor, "states actions"]) -> Float[Tensor, "states actions"]:
    """In each state the action of the highest value; of equal ones the first.

    >>> greedy_policy(torch.tensor([[1.0, 3.0], [2.0, 2.0]]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    close = actions >= actions.amax(1, keepdim=True) - _TIE * (1 + actions.abs().amax(1, keepdim=True))
    return torch.nn.functional.one_hot(close.int().argmax(1), actions.shape[1]).to(actions)


def value_iteration(process: DecisionProcess, tolerance: float = 1e-10, most: int = 100_000) -> Solution:
    r"""Apply Bellman's operator until it changes nothing.

    $$ V_{k+1} = T V_k, \qquad \lVert V_k - V^* \rVert_\infty \le \gamma^k \lVert V_0 - V^* \rVert_\infty $$

    >>> process = DecisionProcess([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], [[1.0, 5.0], [0.0, 0.0]], 0.9)
    >>> value_iteration(process).values.round(decimals=6)
    tensor([10.,  0.], dtype=torch.float64)
    """
    values = torch.zeros(process.states).to(process.transition)
    for iteration in range(1, most + 1):
        values, before = bellman_optimal(process, values), values
        if float((values - before).abs().max()) <= tolerance * (1 + float(values.abs().max())):
            return Solution(values, greedy_policy(action_values(process, values)), iteration)
    raise GradlabError(
        f"Value iteration still changes values after {most:,} iterations: "
        "without a discount below 1 rewards add up for ever where an episode need not end."
    )


def policy_iteration(process: DecisionProcess, policy: Float[Tensor, "states actions"] | None = None) -> Solution:
    r"""Evaluate a policy exactly, act greedily by its values, and so on until no action is better.

    $$ \pi_{k+1}(s) \in \arg\max_a \Bigl( R_{s a} + \gamma \sum_{s'} P_{s a s'} V^{\pi_k}_{s'} \Bigr) $$

    It starts with all actions alike, so that every state reaches an end that can be reached at all, and changes an
    action only where another is better: so it ends, after as many iterations as there are policies at most.
    """
    if policy is None:
        policy = torch.full((process.states, process.actions), 1 / process.actions).to(process.transition)
    iteration = 0
    while True:
        iteration += 1
        values = policy_values(process, policy)
        actions = action_values(process, values)
        better = actions.amax(1) > values + _TIE * (1 + values.abs())
        if not bool(better.any()):
            return Solution(values, greedy_policy(actions), iteration)
        policy = torch.where(better[:, None], greedy_policy(actions), policy)
