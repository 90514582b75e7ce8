"""What a policy earns, and its exact gradient where the policy is a softmax of logits."""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.maths.decisions.process import DecisionProcess
from gradlab.maths.decisions.values import action_values, policy_values


def expected_return(process: DecisionProcess, policy: Float[Tensor, "states actions"]) -> Float[Tensor, ""]:
    r"""What a policy earns from the start, later rewards discounted.

    $$ J(\pi) = \sum_s \rho_s V^\pi_s = E \Bigl[ \sum_t \gamma^t R_{t+1} \Bigr] $$
    """
    return process.start @ policy_values(process, policy)


def occupancy(process: DecisionProcess, policy: Float[Tensor, "states actions"]) -> Float[Tensor, " states"]:
    r"""How often each state that is not final is visited, later visits discounted.

    $$ d^\pi_s = \sum_t \gamma^t P[S_t = s], \qquad (I - \gamma P^{\pi\top}) d^\pi = \rho $$
    """
    transition, _ = process.under(policy)
    going = ~process.final
    among = transition[going][:, going]
    visits = torch.zeros_like(process.start)
    visits[going] = torch.linalg.solve(
        torch.eye(len(among)).to(among) - process.discount * among.mT, process.start[going]
    )
    return visits


def softmax_policy_gradient(
    process: DecisionProcess, logits: Float[Tensor, "states actions"]
) -> Float[Tensor, "states actions"]:
    r"""The gradient of what the policy $\pi = \mathrm{softmax}(\theta)$ earns, by the policy-gradient theorem.

    $$ \frac{\partial J}{\partial \theta_{s a}} = d^\pi_s \, \pi(a \mid s) \, (Q^\pi_{s a} - V^\pi_s) $$

    How the visits depend on the policy need not be known: that is what the theorem says.
    """
    policy = logits.softmax(1)
    values = policy_values(process, policy)
    return occupancy(process, policy)[:, None] * policy * (action_values(process, values) - values[:, None])
