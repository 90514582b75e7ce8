import numpy as np
import pytest
from scratch_helpers import normal, right, same

from gradlab.scratch import Tensor
from gradlab.scratch.attention import causal_mask, linear
from gradlab.scratch.features import cosh, positive
from gradlab.scratch.linear_attention import performer, recurrent, weighted

N, D = 4, 3
OMEGA = normal(5, D, seed=9)


def triple(*before):
    return normal(*before, N, D), normal(*before, N, D, seed=1), normal(*before, N, 2, seed=2)


@pytest.mark.parametrize("before", [(), (2,)])
def test_the_three_forms_are_one(before):
    arrays = triple(*before)
    q, k, v = map(Tensor, arrays)
    same(weighted(q, k, v), linear(q, k, v).value)
    same(recurrent(q, k, v), weighted(q, k, v, causal_mask(N)).value)
    same(recurrent(q, k, v)[..., -1:, :], linear(q[..., -1:, :], k, v).value)


@pytest.mark.parametrize("mask", [None, causal_mask(N)], ids=["open", "causal"])
@pytest.mark.parametrize("features", [positive, cosh])
def test_gradients(mask, features):
    right(lambda *a: weighted(*a, mask), *triple(2))
    right(lambda *a: performer(*a, OMEGA, mask, features), *triple(2))
    right(recurrent, *triple(2))


def test_a_query_without_keys_gets_zero_and_gives_no_gradient():
    q, k, v = map(Tensor, triple())
    y = weighted(q, k, v, np.tri(N, dtype=bool) & (np.arange(N) > 0))
    y.sum().backward()
    assert not y.value[0].any()
    assert not q.grad[0].any()
    assert np.isfinite(k.grad).all()


def test_the_weights_of_the_performer_are_those_of_softmax_on_average():
    q, k, v = (a / 4 for a in triple())
    omega = np.random.default_rng(0).normal(size=(200_000, D))
    scores = np.exp(q @ k.T / np.sqrt(D))
    wanted = scores @ v / scores.sum(-1, keepdims=True)
    assert np.abs(performer(Tensor(q), Tensor(k), Tensor(v), omega).value - wanted).max() < 2e-3
