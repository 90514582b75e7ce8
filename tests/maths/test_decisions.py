"""Markov decision processes: refusals that name the row, ends without a discount, and a peer's linear programme."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from gradlab.errors import GradlabError
from gradlab.maths.decisions import (
    DecisionProcess,
    all_paths,
    policy_iteration,
    policy_values,
    softmax_policy_gradient,
    value_iteration,
)

STAY = [[[1.0, 0.0]], [[0.0, 1.0]]]


def random_process(seed: int, discount: float = 0.9) -> DecisionProcess:
    rng = np.random.default_rng(seed)
    return DecisionProcess(rng.dirichlet(np.ones(6), (6, 3)), rng.normal(size=(6, 3)), discount)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DecisionProcess([[0.5, 0.5]], [[0.0]]), "the axes (state, action, next state), got the shape (1, 2)"),
        (
            lambda: DecisionProcess([[[1.0, 0.0]], [[0.3, 0.6]]], [[0.0], [0.0]]),
            "transition: the row of state 1, action 0 sums to 0.9; each row must be a distribution over the next state",
        ),
        (lambda: DecisionProcess([[[1.5, -0.5]], [[0.0, 1.0]]], [[0.0], [0.0]]), "action 0 has the entry -0.5"),
        (lambda: DecisionProcess([[[np.nan, 1.0]], [[0.0, 1.0]]], [[0.0], [0.0]]), "state 0, action 0 sums to nan"),
        (lambda: DecisionProcess(STAY, [0.0, 0.0]), "Rewards have the axes (state, action), (2, 1)"),
        (lambda: DecisionProcess(STAY, [[np.inf], [0.0]]), "finite"),
        (lambda: DecisionProcess(STAY, [[0.0], [0.0]], 1.01), "The discount must be from 0 to 1, got 1.01"),
        (lambda: DecisionProcess(STAY, [[0.0], [0.0]], float("nan")), "The discount must be from 0 to 1, got nan"),
        (lambda: DecisionProcess(STAY, [[0.0], [0.0]], start=2), "States are 0 to 1; an episode cannot start in 2"),
        (lambda: DecisionProcess(STAY, [[0.0], [0.0]], start=[0.5, 0.4]), "start: the row of state 0 sums to 0.9"),
        (lambda: policy_values(DecisionProcess(STAY, [[1.0], [0.0]]), torch.ones(2, 1).double()), "never ends"),
        (lambda: policy_values(DecisionProcess(STAY, [[1.0], [0.0]]), torch.ones(2, 2)), "(2, 1), got (2, 2)"),
        (lambda: value_iteration(DecisionProcess(STAY, [[1.0], [0.0]]), most=50), "still changes values after 50"),
        (lambda: all_paths(random_process(0), torch.full((6, 3), 1 / 3).double(), 9), "more than 1,048,576 paths"),
    ],
)
def test_what_is_refused_is_named(build, message):
    with pytest.raises(GradlabError) as error:
        build()
    assert message in str(error.value)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_values_are_those_of_the_linear_programme(seed):
    process = random_process(seed)
    gains = process.discount * process.transition - torch.eye(6).double()[:, None]
    found = linprog(
        np.ones(6), A_ub=gains.reshape(18, 6).numpy(), b_ub=-process.mean_rewards.flatten().numpy(), bounds=(None, None)
    )
    for solution in (value_iteration(process), policy_iteration(process)):
        assert np.allclose(solution.values, found.x, atol=1e-6)
    assert torch.equal(value_iteration(process).policy, policy_iteration(process).policy)


def test_without_a_discount_what_ends_has_a_value_and_a_gradient():
    """Action 0 ends and pays 1; action 1 ends in half of the cases and pays 1 each time."""
    process = DecisionProcess([[[0.0, 1.0], [0.5, 0.5]], [[0.0, 1.0]] * 2], [[1.0, 1.0], [0.0, 0.0]])
    policy = torch.tensor([[0.25, 0.75], [1.0, 0.0]]).double()
    assert policy_values(process, policy).tolist() == pytest.approx([1 / (1 - 0.375), 0.0])
    assert policy_iteration(process).values.tolist() == pytest.approx([2.0, 0.0])
    gradient = softmax_policy_gradient(process, policy.clamp(min=1e-9).log())
    p = 0.75
    assert gradient[0, 1].item() == pytest.approx(0.5 / (1 - p / 2) ** 2 * p * (1 - p))
