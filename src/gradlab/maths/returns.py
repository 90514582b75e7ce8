"""Returns, advantages and the gradients of a policy: estimators of reinforcement learning, as plain functions.

Arrays have time on their first axis, and on further ones the episodes or copies that go on beside each other.
`over` says after which steps an episode is over, so that nothing flows back across its end.
"""

import torch
from torch import Tensor


def discounted_returns(
    rewards: Tensor, discount: float, over: Tensor | None = None, last: Tensor | float = 0.0
) -> Tensor:
    r"""What each step and those after it bring, later ones discounted.

    $$ G_t = r_t + \gamma (1 - d_t) G_{t+1}, \qquad G_T = v $$

    d is 1 where the episode is over after a step, and v = `last` what is expected after the last one.

    >>> discounted_returns(torch.tensor([1.0, 1.0, 1.0]), 0.5)
    tensor([1.7500, 1.5000, 1.0000])
    """
    returns = torch.empty_like(rewards)
    following = torch.as_tensor(last, dtype=rewards.dtype).expand_as(rewards[0])
    goes_on = torch.ones_like(rewards) if over is None else 1 - over.to(rewards.dtype)
    for t in reversed(range(len(rewards))):
        following = returns[t] = rewards[t] + discount * goes_on[t] * following
    return returns


def generalised_advantages(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    over: Tensor,
    discount: float,
    decay: float,
) -> Tensor:
    r"""How much better each step went than was expected: an average of n-step advantages (Schulman et al. 2016).

    $$ \delta_t = r_t + \gamma V(s_{t+1}) - V(s_t), \qquad A_t = \delta_t + \gamma \lambda (1 - d_t) A_{t+1} $$

    `next_values` are of the state that a step led to: 0 where the episode ended there, but not where it was only cut
    off by a limit of time. λ = `decay`: 0 trusts the values, 1 the rewards alone.

    >>> ones = torch.ones(3)
    >>> generalised_advantages(ones, 0 * ones, 0 * ones, torch.tensor([0, 0, 1]), discount=0.5, decay=1.0)
    tensor([1.7500, 1.5000, 1.0000])
    """
    surprises = rewards + discount * next_values - values
    return discounted_returns(surprises, discount * decay, over)


def policy_gradient(log_probs: Tensor, advantages: Tensor) -> Tensor:
    r"""A sum whose gradient is that of the expected return, from actions that the policy has drawn.

    $$ -\sum_t \log \pi_\theta(a_t \mid s_t) \, A_t $$

    To be minimised; no gradient flows into the advantages. With any baseline that does not look at the action, the
    gradient has the same expectation, and less variance.
    """
    return -(log_probs * advantages.detach()).sum()
