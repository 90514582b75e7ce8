"""What is known of Markov decision processes: Bellman's operators, the best policy, and gradients of policies."""

from typing import Any

import torch
from torch import Tensor

from gradlab.maths.decisions.gradient import expected_return, occupancy, softmax_policy_gradient
from gradlab.maths.decisions.paths import all_paths
from gradlab.maths.decisions.planning import Solution, greedy_policy, policy_iteration, value_iteration
from gradlab.maths.decisions.process import DecisionProcess
from gradlab.maths.decisions.values import action_values, bellman, bellman_optimal, policy_values
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

for _function in (
    bellman, bellman_optimal, policy_values, greedy_policy, value_iteration, policy_iteration,
    expected_return, occupancy, softmax_policy_gradient, all_paths,
):  # fmt: skip
    subject(f"maths.decisions.{_function.__name__}")(_function)


def process(case: Case, discount: float | None = None) -> DecisionProcess:
    states, actions = case.integer("states", 2, 5), case.integer("actions", 2, 3)
    return DecisionProcess(
        case.distribution("P", states, actions, states).detach(),
        case.tensor("r", states, actions, states).detach(),
        case.real("discount", 0.0, 0.95) if discount is None else discount,
        case.distribution("ρ", states).detach(),
    )


def episodic(case: Case, discount: float, length: int = 3) -> DecisionProcess:
    """Of two kinds of states at each time, and then the end: after `length` steps every episode is over."""
    actions, states = case.integer("actions", 2, 3), 2 * length + 1
    transition, rewards = torch.zeros(states, actions, states).double(), torch.zeros(states, actions, states).double()
    drawn, paid = case.distribution("P", length, 2, actions, 2), case.tensor("r", length, 2, actions, 2)
    for time in range(length - 1):
        now, after = slice(2 * time, 2 * time + 2), slice(2 * time + 2, 2 * time + 4)
        transition[now, :, after], rewards[now, :, after] = drawn[time].detach(), paid[time].detach()
    transition[-3:, :, -1] = 1.0
    rewards[-3:-1, :, -1] = paid[-1, ..., 0].detach()
    start = torch.zeros(states).double()
    start[:2] = case.distribution("ρ", 2).detach()
    return DecisionProcess(transition, rewards, discount, start)


def policy_of(case: Case, own: DecisionProcess) -> Tensor:
    return case.distribution("π", own.states, own.actions).detach()


def farthest(x: Tensor, y: Tensor) -> float:
    return float((x - y).abs().max())


def _excess(distance: float, bound: float) -> float:
    return max(0.0, distance - bound)


@law(
    "maths.decisions.bellman", fault=lambda own, v, pi: (pi * own.mean_rewards).sum(1) + own.transition.amax((1, 2)) * v
)
def a_policys_operator_contracts_by_the_discount(case: Case) -> float:
    r"""$\lVert T^\pi V - T^\pi W \rVert_\infty \le \gamma \lVert V - W \rVert_\infty$, with equality for $W = V + c$"""
    own, operator = process(case), case.build()
    policy, v, w = policy_of(case, own), case.tensor("V", own.states), case.tensor("W", own.states)
    nearer = _excess(farthest(operator(own, v, policy), operator(own, w, policy)), own.discount * farthest(v, w))
    return nearer + difference(
        operator(own, v + 1, policy) - operator(own, v, policy), own.discount * torch.ones_like(v)
    )


@law("maths.decisions.bellman_optimal", fault=lambda own, v: action_values(own, v).sum(1))
def the_best_policys_operator_contracts_by_the_discount(case: Case) -> float:
    r"""$\lVert T V - T W \rVert_\infty \le \gamma \lVert V - W \rVert_\infty$, with equality for $W = V + c$"""
    own, operator = process(case), case.build()
    v, w = case.tensor("V", own.states), case.tensor("W", own.states)
    nearer = _excess(farthest(operator(own, v), operator(own, w)), own.discount * farthest(v, w))
    return nearer + difference(operator(own, v + 1) - operator(own, v), own.discount * torch.ones_like(v))


@law("maths.decisions.bellman_optimal", fault=lambda own, v: action_values(own, v).mean(1))
def no_policy_gets_more_from_a_step_than_the_best(case: Case) -> float:
    r"""$T V \ge T^\pi V$ for every policy, with equality for the greedy one"""
    own, v = process(case), case.tensor("V", case.drawn["states"]).detach()
    best, policy = case.build()(own, v), policy_of(case, own)
    greedy = bellman(own, v, greedy_policy(action_values(own, v)))
    return float((bellman(own, v, policy) - best).clamp(min=0).max()) + difference(best, greedy)


def _without_the_chain(own: DecisionProcess, policy: Tensor) -> Tensor:
    return own.under(policy)[1] / (1 - own.discount)


@law("maths.decisions.policy_values", fault=_without_the_chain)
def values_are_the_fixed_point_of_the_policys_operator(case: Case) -> float:
    r"""$T^\pi V^\pi = V^\pi$"""
    own = process(case)
    policy = policy_of(case, own)
    values = case.build()(own, policy)
    return difference(bellman(own, values, policy), values)


def _undiscounted(own: DecisionProcess, policy: Tensor) -> Tensor:
    return policy_values(DecisionProcess(own.transition, own.rewards, 1.0, own.start), policy)


@law("maths.decisions.policy_values", fault=_undiscounted)
def the_start_is_worth_the_mean_over_all_that_can_happen(case: Case) -> float:
    r"""$\sum_s \rho_s V^\pi_s = \sum_\tau P[\tau] \sum_t \gamma^t r_t$ over all episodes τ"""
    own = episodic(case, case.real("discount", 0.0, 0.9))
    policy = policy_of(case, own)
    paths = all_paths(own, policy, 3)
    discounts = own.discount ** torch.arange(3).double()
    return difference(own.start @ case.build()(own, policy), paths.probabilities @ (paths.rewards @ discounts))


# The best policy


def _one_iteration(own: DecisionProcess) -> Solution:
    values = bellman_optimal(own, torch.zeros(own.states).double())
    return Solution(values, greedy_policy(values[:, None].expand(-1, own.actions)), 1)


@law("maths.decisions.value_iteration", fault=_one_iteration, tolerance=1e-8)
def it_ends_where_bellmans_operator_changes_nothing(case: Case) -> float:
    r"""$T V^* = V^*$, and the greedy policy earns $V^*$"""
    own = process(case)
    found = case.build()(own)
    return difference((bellman_optimal(own, found.values), policy_values(own, found.policy)), (found.values,) * 2)


def _improved_once(own: DecisionProcess, policy: Tensor | None = None) -> Solution:
    policy = torch.full((own.states, own.actions), 1 / own.actions).double() if policy is None else policy
    values = policy_values(own, policy)
    return Solution(values, greedy_policy(-action_values(own, values)), 1)


@law("maths.decisions.policy_iteration", fault=_improved_once, tolerance=1e-8)
def it_ends_at_the_fixed_point_of_value_iteration(case: Case) -> float:
    r"""$V^{\pi_k} \to V^*$ after finitely many policies, and $\pi_k$ is greedy for it"""
    own = process(case)
    found = case.build()(own, policy_of(case, own))
    wanted = value_iteration(own).values
    return difference((found.values, policy_values(own, found.policy)), (wanted, wanted))


def _least_first(actions: Tensor) -> Tensor:
    return greedy_policy(-actions)


@law("maths.decisions.greedy_policy", fault=_least_first)
def acting_greedily_by_its_values_never_makes_a_policy_worse(case: Case) -> float:
    r"""$\pi' $ greedy for $Q^\pi$ implies $V^{\pi'} \ge V^\pi$ in every state"""
    own = process(case)
    policy, better = policy_of(case, own), case.build()
    worst = 0.0
    for _ in range(3):
        values = policy_values(own, policy)
        policy = better(action_values(own, values))
        worst = max(worst, float((values - policy_values(own, policy)).clamp(min=0).max()))
    return worst


# Gradients of policies


def _without_visits(own: DecisionProcess, logits: Tensor) -> Tensor:
    policy = logits.softmax(1)
    values = policy_values(own, policy)
    return own.start[:, None] * policy * (action_values(own, values) - values[:, None])


@law("maths.decisions.softmax_policy_gradient", fault=_without_visits)
def the_policy_gradient_theorem(case: Case) -> float:
    r"""$\partial J / \partial \theta_{sa} = d^\pi_s \pi(a \mid s) A^\pi_{sa}$ is autograd through the linear solve"""
    own = process(case)
    logits = case.tensor("θ", own.states, own.actions)
    (wanted,) = torch.autograd.grad(expected_return(own, logits.softmax(1)), logits)
    return difference(case.build()(own, logits.detach()), wanted)


@law("maths.decisions.occupancy", fault=lambda own, policy: own.start / (1 - own.discount))
def rewards_at_the_visited_states_add_up_to_the_return(case: Case) -> float:
    r"""$J(\pi) = \sum_s d^\pi_s R^\pi_s$, and $\sum_s d^\pi_s = 1 / (1 - \gamma)$ where nothing ends"""
    own = process(case)
    policy = policy_of(case, own)
    visits = case.build()(own, policy)
    got = visits @ own.under(policy)[1], visits.sum()
    return difference(got, (expected_return(own, policy), torch.tensor(1 / (1 - own.discount), dtype=torch.float64)))


@law("maths.decisions.expected_return", fault=lambda own, policy: policy_values(own, policy).mean())
def the_advantage_of_another_policy_is_what_it_earns_more(case: Case) -> float:
    r"""$J(\pi') - J(\pi) = \sum_s d^{\pi'}_s \sum_a \pi'(a \mid s) A^\pi_{sa}$, the performance difference"""
    own, earned = process(case), case.build()
    old, new = policy_of(case, own), case.distribution("π'", own.states, own.actions).detach()
    values = policy_values(own, old)
    advantages = action_values(own, values) - values[:, None]
    return difference(earned(own, new) - earned(own, old), (occupancy(own, new)[:, None] * new * advantages).sum())


def _of_the_first_action(own: DecisionProcess, policy: Tensor, steps: int) -> Any:
    paths = all_paths(own, policy, steps)
    return paths._replace(probabilities=paths.probabilities / policy[paths.states[:, 0], paths.actions[:, 0]])


@law("maths.decisions.all_paths", fault=_of_the_first_action)
def all_that_can_happen_has_probability_one(case: Case) -> float:
    r"""$\sum_\tau P[\tau] = 1$, and the last states have the law $\rho (P^\pi)^n$"""
    own, steps = process(case), case.integer("steps", 1, 3)
    policy = policy_of(case, own)
    paths = case.build()(own, policy, steps)
    ends = torch.zeros(own.states).double().index_add(0, paths.states[:, -1], paths.probabilities)
    wanted = own.start @ torch.linalg.matrix_power(own.under(policy)[0], steps)
    return difference((paths.probabilities.sum(), ends), (torch.ones(()).double(), wanted))
