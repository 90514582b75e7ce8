"""What is known of the estimators of reinforcement learning: their mean over all that can happen is the gradient."""

from typing import NamedTuple

import torch
from torch import Tensor

from gradlab.maths.decisions import DecisionProcess, all_paths, policy_values, softmax_policy_gradient
from gradlab.maths.returns import discounted_returns, generalised_advantages, policy_gradient
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.families.maths.decisions import episodic
from gradlab.verification.subject import subject

for _function in (discounted_returns, generalised_advantages, policy_gradient):
    subject(f"maths.returns.{_function.__name__}")(_function)

_LENGTH = 3  # steps of every episode


class Episodes(NamedTuple):
    """All episodes of a softmax policy; arrays have axes for time and episodes, as the estimators take them."""

    process: DecisionProcess
    logits: Tensor
    probabilities: Tensor
    states: Tensor
    actions: Tensor
    rewards: Tensor
    over: Tensor

    @property
    def log_probs(self) -> Tensor:
        return self.logits.log_softmax(1)[self.states[:-1], self.actions]

    def discounts(self) -> Tensor:
        """γᵗ: what a step counts in the return of the start."""
        return self.process.discount ** torch.arange(_LENGTH).double()[:, None]


def episodes(case: Case) -> Episodes:
    process = episodic(case, case.real("discount", 0.3, 1.0), _LENGTH)
    logits = case.tensor("θ", process.states, process.actions)
    paths = all_paths(process, logits.detach().softmax(1), _LENGTH)
    over = torch.zeros_like(paths.rewards.mT)
    over[-1] = 1.0
    return Episodes(process, logits, paths.probabilities, paths.states.mT, paths.actions.mT, paths.rewards.mT, over)


def gradients(seen: Episodes, weights: Tensor) -> Tensor:
    """Of each episode, the gradient of the sum over its steps of log π times a weight."""
    policy, count = seen.logits.detach().softmax(1), len(seen.probabilities)
    scores = torch.zeros(count, *policy.shape, dtype=policy.dtype)
    for time in range(_LENGTH):
        state, action = seen.states[time], seen.actions[time]
        rows = torch.nn.functional.one_hot(action, policy.shape[1]).to(policy) - policy[state]
        scores[torch.arange(count), state] += weights[time][:, None] * rows
    return scores


def mean_gradient(seen: Episodes, weights: Tensor) -> Tensor:
    return torch.einsum("p,psa->sa", seen.probabilities, gradients(seen, weights))


def _whole_return(rewards: Tensor, discount: float, over: Tensor | None = None, last: float = 0.0) -> Tensor:
    """Discounted from the start and not from each step, as is easily written."""
    times = discount ** torch.arange(len(rewards)).to(rewards)[:, None]
    return (rewards * times).flip(0).cumsum(0).flip(0)


@law("maths.returns.discounted_returns", fault=_whole_return)
def reinforce_is_right_on_average(case: Case) -> float:
    r"""$E \sum_t \gamma^t G_t \nabla \log \pi(a_t \mid s_t) = \nabla J$, over all episodes with their probabilities"""
    seen = episodes(case)
    returns = case.build()(seen.rewards, seen.process.discount, seen.over)
    wanted = softmax_policy_gradient(seen.process, seen.logits.detach())
    return difference(mean_gradient(seen, seen.discounts() * returns), wanted)


@law("maths.returns.discounted_returns", fault=lambda rewards, discount, over=None, last=0.0: rewards)
def the_mean_return_of_a_state_is_its_value(case: Case) -> float:
    r"""$E[G_0 \mid S_0 = s] = V^\pi(s)$"""
    seen = episodes(case)
    returns = case.build()(seen.rewards, seen.process.discount, seen.over)[0]
    values = policy_values(seen.process, seen.logits.detach().softmax(1))
    return difference(seen.probabilities @ returns, seen.process.start @ values)


def _advantages_of_returns(
    rewards: Tensor, values: Tensor, next_values: Tensor, over: Tensor, discount: float, decay: float
) -> Tensor:
    """Flowing on across the end of an episode, and without the values of next states."""
    return discounted_returns(rewards - values, discount * decay)


@law("maths.returns.generalised_advantages", fault=_advantages_of_returns)
def with_the_true_values_they_are_right_on_average_for_every_decay(case: Case) -> float:
    r"""$E \sum_t \gamma^t A_t^\lambda \nabla \log \pi(a_t \mid s_t) = \nabla J$ for all λ, if V is $V^\pi$"""
    seen, decay = episodes(case), case.real("λ", 0.0, 1.0)
    values = policy_values(seen.process, seen.logits.detach().softmax(1))[seen.states]
    advantages = case.build()(seen.rewards, values[:-1], values[1:], seen.over, seen.process.discount, decay)
    wanted = softmax_policy_gradient(seen.process, seen.logits.detach())
    return difference(mean_gradient(seen, seen.discounts() * advantages), wanted)


def _one_step(
    rewards: Tensor, values: Tensor, next_values: Tensor, over: Tensor, discount: float, decay: float
) -> Tensor:
    return rewards + discount * next_values - values


@law("maths.returns.generalised_advantages", fault=_one_step)
def at_a_decay_of_one_any_values_are_a_baseline(case: Case) -> float:
    r"""$A_t^1 = G_t - V(s_t)$, whose mean gradient is ∇J for every function V that is 0 at the end"""
    seen = episodes(case)
    anything = case.tensor("V", seen.process.states).detach() * (~seen.process.final)
    values = anything[seen.states]
    advantages = case.build()(seen.rewards, values[:-1], values[1:], seen.over, seen.process.discount, 1.0)
    wanted = softmax_policy_gradient(seen.process, seen.logits.detach())
    returns = discounted_returns(seen.rewards, seen.process.discount, seen.over)
    return difference((advantages, mean_gradient(seen, seen.discounts() * advantages)), (returns - values[:-1], wanted))


def _through_advantages(log_probs: Tensor, advantages: Tensor) -> Tensor:
    return -(log_probs * advantages).sum()


@law("maths.returns.policy_gradient", fault=_through_advantages)
def its_slope_is_the_score_times_the_advantage(case: Case) -> float:
    r"""$-\nabla \sum_t \log \pi(a_t \mid s_t) A_t$, where A is held fixed, although it depends on the policy"""
    seen = episodes(case)
    returns = discounted_returns(seen.rewards, seen.process.discount, seen.over)
    advantages = returns - policy_values(seen.process, seen.logits.softmax(1))[seen.states[:-1]]
    weights = seen.discounts() * seen.probabilities
    (got,) = torch.autograd.grad(case.build()(seen.log_probs, weights * advantages), seen.logits)
    return difference(-got, softmax_policy_gradient(seen.process, seen.logits.detach()))


def _without_its_baseline(
    rewards: Tensor, values: Tensor, next_values: Tensor, over: Tensor, discount: float, decay: float
) -> Tensor:
    return 3 * discounted_returns(rewards, discount, over) + values


@law("maths.returns.generalised_advantages", fault=_without_its_baseline)
def a_baseline_changes_the_variance_and_not_the_mean(case: Case) -> float:
    r"""$E[(r - b) \nabla \log \pi] = \nabla J$ for all b; the best is a mean of r weighted by $|\nabla \log \pi|^2$"""
    actions = case.integer("actions", 2, 4)
    logits, rewards = case.tensor("θ", actions).detach(), case.tensor("r", actions).detach()
    policy, ones = logits.softmax(0), torch.ones(1, actions).double()
    scores = torch.eye(actions).double() - policy
    squares = scores.square().sum(1)
    best = (policy * squares * rewards).sum() / (policy * squares).sum()

    def moments(baseline: Tensor | float) -> tuple[Tensor, Tensor]:
        weights = case.build()(rewards[None], baseline * ones, 0 * ones, ones, 1.0, 1.0)[0]
        drawn = weights[:, None] * scores
        mean = policy @ drawn
        return mean, policy @ (drawn - mean).square().sum(1)

    (plain, without), (shifted, least), (_, other) = moments(0.0), moments(best), moments(best + 1)
    exact = policy * (rewards - policy @ rewards)
    worse = max(0.0, float(least - without)) + max(0.0, float(least - other))
    gain = (policy * squares).sum() * best**2
    return worse + difference((plain, shifted, without - least), (exact, exact, gain))
