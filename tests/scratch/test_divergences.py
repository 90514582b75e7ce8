import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scratch_helpers import agree, normal, positive, right
from torch.distributions import Categorical, Normal, kl_divergence

from gradlab.scratch import Tensor, divergences

SIZES = st.tuples(st.integers(1, 3), st.integers(1, 4))


def probabilities(*shape, seed=0):
    p = np.exp(normal(*shape, seed=seed))
    return p / p.sum(-1, keepdims=True)


OF_TWO = {
    "cross_entropy": lambda p, q: -(p * q.log()).sum(-1),
    "kl": lambda p, q: torch.nn.functional.kl_div(q.log(), p, reduction="none").sum(-1),
    "total_variation": lambda p, q: torch.cdist(p[:, None], q[:, None], p=1.0)[:, 0, 0] / 2,
    "jensen_shannon": lambda p, q: (
        ((p + q) / 2 * -((p + q) / 2).log()).sum(-1) + ((p * p.log()).sum(-1) + (q * q.log()).sum(-1)) / 2
    ),
}


@pytest.mark.parametrize("name", sorted(OF_TWO))
@given(shape=SIZES)
def test_a_divergence(name, shape):
    p, q = probabilities(*shape), probabilities(*shape, seed=1)
    p = np.where(np.abs(p - q) < 1e-3, q + 0.1, p)  # the kink of total variation
    right(getattr(divergences, name), p, q)
    agree(getattr(divergences, name), OF_TWO[name], p, q)


@given(shape=SIZES, order=st.floats(1.0, 4.0))
def test_a_distance_of_any_order(shape, order):
    p, q = positive(*shape), -positive(*shape, seed=1)
    right(lambda p, q: divergences.lp(p, q, order), p, q)
    agree(
        lambda p, q: divergences.lp(p, q, order), lambda p, q: torch.linalg.vector_norm(p - q, ord=order, dim=-1), p, q
    )


@given(shape=SIZES)
def test_entropy(shape):
    right(divergences.entropy, probabilities(*shape))
    agree(divergences.entropy, lambda p: torch.special.entr(p).sum(-1), probabilities(*shape))


@given(shape=SIZES)
def test_normal_distributions(shape):
    leaves = normal(*shape), positive(*shape), normal(*shape, seed=1), positive(*shape, seed=1)
    right(divergences.kl_gaussian, *leaves)
    agree(divergences.kl_gaussian, lambda m, s, n, t: kl_divergence(Normal(m, s), Normal(n, t)).sum(-1), *leaves)


@given(rows=st.integers(1, 3), columns=st.integers(1, 3))
def test_a_table_of_two_variables(rows, columns):
    joint = probabilities(rows * columns).reshape(rows, columns)
    right(divergences.mutual_information, joint)
    right(divergences.pmi, joint)
    independent = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    assert np.abs(divergences.pmi(Tensor(independent)).value).max() < 1e-12
    wanted = kl_divergence(Categorical(torch.tensor(joint.ravel())), Categorical(torch.tensor(independent.ravel())))
    assert np.isclose(divergences.mutual_information(Tensor(joint)).value, wanted.item(), atol=1e-12)


def test_outcomes_of_probability_0_add_nothing_and_have_no_slope():
    p, q = Tensor([0.5, 0.5, 0.0]), Tensor([0.25, 0.75, 0.0])
    divergence = divergences.kl(p, q)
    divergence.backward()
    assert divergence.value == divergences.kl(p[:2], q[:2]).value
    assert p.grad[2] == q.grad[2] == 0
