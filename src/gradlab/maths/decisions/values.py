"""What a state and an action are worth under a policy: Bellman's operators, and their fixed point by a linear solve."""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.decisions.process import DecisionProcess


def action_values(process: DecisionProcess, values: Float[Tensor, " states"]) -> Float[Tensor, "states actions"]:
    r"""What each action is worth, if the states after it are worth `values`.

    $$ Q_{s a} = R_{s a} + \gamma \sum_{s'} P_{s a s'} V_{s'} $$
    """
    return process.mean_rewards + process.discount * (process.transition @ values)


def bellman(
    process: DecisionProcess, values: Float[Tensor, " states"], policy: Float[Tensor, "states actions"]
) -> Float[Tensor, " states"]:
    r"""Bellman's operator of a policy, whose fixed point has the values of that policy.

    $$ (T^\pi V)_s = \sum_a \pi(a \mid s) \Bigl( R_{s a} + \gamma \sum_{s'} P_{s a s'} V_{s'} \Bigr) $$
    """
    return (policy * action_values(process, values)).sum(1)


def bellman_optimal(process: DecisionProcess, values: Float[Tensor, " states"]) -> Float[Tensor, " states"]:
    r"""Bellman's operator of the best policy, whose fixed point no policy exceeds in any state.

    $$ (T V)_s = \max_a \Bigl( R_{s a} + \gamma \sum_{s'} P_{s a s'} V_{s'} \Bigr) $$
    """
    return action_values(process, values).amax(1)


def policy_values(process: DecisionProcess, policy: Float[Tensor, "states actions"]) -> Float[Tensor, " states"]:
    r"""What each state is worth under a policy, exactly.

    $$ V^\pi = R^\pi + \gamma P^\pi V^\pi, \qquad (I - \gamma P^\pi) V^\pi = R^\pi $$

    A final state is worth nothing. It differentiates with respect to the policy.

    >>> process = DecisionProcess([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]])
    >>> policy_values(process, torch.ones(2, 1, dtype=torch.float64))
    tensor([2., 0.], dtype=torch.float64)
    """
    transition, rewards = process.under(policy)
    going = ~process.final
    values = torch.zeros_like(rewards)
    if not bool(going.any()):
        return values
    solved: Tensor = _solved(process.discount, transition[going][:, going], rewards[going])
    return values.masked_scatter(going, solved)


def _solved(discount: float, transition: Tensor, rewards: Tensor) -> Tensor:
    matrix = torch.eye(len(rewards)).to(transition) - discount * transition
    solution: Tensor
    solution, info = torch.linalg.solve_ex(matrix, rewards)
    # Undiscounted and without an end the matrix is singular, up to rounding.
    if int(info) or not float((matrix @ solution - rewards).detach().abs().max()) < 1e-6 * _scale(solution, rewards):
        raise GradlabError(
            "Under this policy some state never ends, and without a discount its value is not defined. "
            "Set a discount below 1, or let every state lead to an end."
        )
    return solution


def _scale(solution: Tensor, rewards: Tensor) -> float:
    return 1.0 + float(rewards.detach().abs().max()) + 1e-6 * float(solution.detach().abs().max())
