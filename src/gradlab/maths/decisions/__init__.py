"""Finite Markov decision processes: values of policies, the best policy, and the gradient of what a policy earns."""

from gradlab.maths.decisions.gradient import expected_return, occupancy, softmax_policy_gradient
from gradlab.maths.decisions.paths import Paths, all_paths
from gradlab.maths.decisions.planning import Solution, greedy_policy, policy_iteration, value_iteration
from gradlab.maths.decisions.process import DecisionProcess
from gradlab.maths.decisions.values import action_values, bellman, bellman_optimal, policy_values

__all__ = [
    "DecisionProcess",
    "Paths",
    "Solution",
    "action_values",
    "all_paths",
    "bellman",
    "bellman_optimal",
    "expected_return",
    "greedy_policy",
    "occupancy",
    "policy_iteration",
    "policy_values",
    "softmax_policy_gradient",
    "value_iteration",
]
