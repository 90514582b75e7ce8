"""Importance sampling against models whose evidence is known."""

import math

import pytest
import torch
from torch.distributions import Normal
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn.importance import importance_error, importance_estimate

X = 1.2
PRIOR, EVIDENCE = Normal(0.0, 1.0), Normal(0.0, 2**0.5)  # z ~ N(0, 1) and x | z ~ N(z, 1) make x ~ N(0, 2)
POSTERIOR = Normal(X / 2, 0.5**0.5)


def log_weights(proposal, *shape):
    z = proposal.sample(shape).double()
    return PRIOR.log_prob(z) + Normal(z, 1.0).log_prob(torch.tensor(X)) - proposal.log_prob(z)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("proposal", [PRIOR, Normal(1.0, 0.8)], ids=["prior", "near the posterior"])
def test_the_estimate_is_right_on_average_and_its_log_too_low(proposal):
    true = EVIDENCE.log_prob(torch.tensor(X)).double()
    log_mean, _ = importance_estimate(log_weights(proposal, 4, 200_000))
    estimates = log_mean.exp()
    error = (estimates.std() / math.sqrt(len(estimates))).item()
    assert abs(estimates.mean().item() - true.exp().item()) < 4 * error
    assert log_mean.mean() < true - 4 * log_mean.std() / math.sqrt(len(log_mean))


def test_draws_of_the_posterior_know_the_evidence_at_once():
    log_mean, effective = importance_estimate(log_weights(POSTERIOR, 5))
    assert log_mean.item() == pytest.approx(EVIDENCE.log_prob(torch.tensor(X)).item(), abs=1e-6)
    assert effective.item() == pytest.approx(5, abs=1e-4)
    assert importance_error(effective, 5).item() == pytest.approx(0, abs=1e-3)


def test_one_draw_is_what_a_bound_is_made_of():
    weight = torch.tensor([[0.3, -2.0]])
    log_mean, effective = importance_estimate(weight)
    assert_close(log_mean, weight[0])
    assert_close(effective, torch.ones(2))
    assert importance_error(effective, 1).isinf().all()


def test_the_error_is_that_of_a_mean():
    weights = torch.rand(50, 3).double() + 0.1
    log_mean, effective = importance_estimate(weights.log())
    assert_close(log_mean.exp(), weights.mean(0))
    assert_close(importance_error(effective, 50), weights.std(0) / math.sqrt(50) / weights.mean(0))


def test_it_tells_how_far_estimates_are_apart():
    log_mean, effective = importance_estimate(log_weights(Normal(1.0, 0.8), 100, 20_000))
    told = importance_error(effective, 100).square().mean().sqrt()
    assert told.item() == pytest.approx(log_mean.std().item(), rel=0.05)


def test_far_weights_neither_overflow_nor_vanish():
    log_mean, effective = importance_estimate(torch.tensor([[800.0, -800.0], [800.0, -900.0]]))
    assert_close(log_mean, torch.tensor([800.0, -800.0 - math.log(2)]))
    assert_close(effective, torch.tensor([2.0, 1.0]))


def test_no_weight_at_all_is_no_draw():
    log_mean, effective = importance_estimate(torch.full((4,), -torch.inf))
    assert log_mean.item() == -math.inf
    assert effective.item() == 0
    with pytest.raises(GradlabError, match="at least one draw"):
        importance_estimate(torch.zeros(0, 3))
