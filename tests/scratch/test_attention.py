import numpy as np
import pytest
import torch
from scratch_helpers import agree, normal, right, same
from torch.nn import functional as F

from gradlab.scratch import Tensor
from gradlab.scratch.attention import (
    additive,
    attend,
    boxcar,
    causal_mask,
    dot,
    epanechnikov,
    gaussian,
    general,
    hard,
    linear,
    multi_head,
    reduced_rank,
    scaled_dot,
    triangular,
)

QUERIES, KEYS, DIM = 3, 4, 2
MASK = np.array([[1, 0, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1]], dtype=bool)


def triple(*before, dim=DIM, values=5):
    return normal(*before, QUERIES, dim), normal(*before, KEYS, dim, seed=1), normal(*before, KEYS, values, seed=2)


@pytest.mark.parametrize("before", [(), (2,), (2, 3)])
@pytest.mark.parametrize("mask", [None, MASK], ids=["open", "masked"])
def test_scaled_dot_products(before, mask):
    right(lambda *a: scaled_dot(*a, mask), *triple(*before))
    twin = None if mask is None else torch.tensor(mask)
    agree(
        lambda *a: scaled_dot(*a, mask), lambda *a: F.scaled_dot_product_attention(*a, attn_mask=twin), *triple(*before)
    )


def test_causal_attention_sees_no_later_key():
    arrays = [normal(2, 4, 3, seed=i) for i in range(3)]
    mask = causal_mask(4)
    agree(lambda *a: scaled_dot(*a, mask), lambda *a: F.scaled_dot_product_attention(*a, is_causal=True), *arrays)
    later = [a.copy() for a in arrays]
    later[1][:, 3], later[2][:, 3] = 100, -100
    before, after = (scaled_dot(*map(Tensor, a), mask).value for a in (arrays, later))
    assert np.array_equal(before[:, :3], after[:, :3])
    assert not np.allclose(before[:, 3], after[:, 3])


def test_a_query_that_may_look_nowhere_gets_zero_and_gives_no_gradient():
    mask = MASK & np.array([[True], [False], [True]])
    q, k, v = map(Tensor, triple())
    y = scaled_dot(q, k, v, mask)
    y.sum().backward()
    assert y.value[1].tolist() == [0] * 5
    assert q.grad[1].tolist() == [0] * DIM
    assert np.isfinite(k.grad).all()


@pytest.mark.parametrize("mask", [None, MASK], ids=["open", "masked"])
def test_general_scores(mask):
    q, k, v = triple(2)
    k, weight = normal(2, KEYS, 3, seed=6), normal(DIM, 3, seed=5)

    def theirs(q, k, v, weight):
        scores = torch.einsum("...id,de,...je->...ij", q, weight, k)
        return torch.softmax(scores if mask is None else scores.masked_fill(torch.tensor(~mask), -torch.inf), -1) @ v

    right(lambda *a: general(*a, mask), q, k, v, weight)
    agree(lambda *a: general(*a, mask), theirs, q, k, v, weight)


def test_the_dot_product_is_the_scaled_one_at_scale_1():
    q, k, v = map(Tensor, triple(2))
    same(dot(q, k, v), scaled_dot(q, k, v, scale=1.0).value)
    same(
        dot(q, k, v, MASK), F.scaled_dot_product_attention(*map(torch.tensor, triple(2)), torch.tensor(MASK), scale=1.0)
    )


@pytest.mark.parametrize("mask", [None, MASK], ids=["open", "masked"])
def test_scores_of_low_rank(mask):
    q, _, v = triple(2)
    k, u, w = normal(2, KEYS, 3, seed=6), normal(2, DIM, seed=5), normal(2, 3, seed=7)
    right(lambda *a: reduced_rank(*a, mask), q, k, v, u, w)
    same(reduced_rank(*map(Tensor, (q, k, v, u, w)), mask), general(*map(Tensor, (q, k, v, u.T @ w)), mask).value)


def test_hard_attention_takes_the_value_of_the_best_key():
    q, k, v = triple(2)
    best = np.argmax(q @ k.swapaxes(-1, -2), -1)
    same(hard(*map(Tensor, (q, k, v))), np.take_along_axis(v, best[..., None], -2))
    mask = MASK & np.array([[True], [False], [True]])
    assert hard(*map(Tensor, (q, k, v)), mask).value[:, 1].tolist() == [[0] * 5] * 2
    right(lambda v: hard(Tensor(q), Tensor(k), v), v)
    same(hard(Tensor([[1.0]]), Tensor([[2.0], [2.0], [1.0]]), Tensor([[1.0], [5.0], [9.0]])), [[3.0]])


KERNELS = {
    gaussian: lambda u: torch.exp(-(u**2) / 2),
    boxcar: lambda u: (u <= 1).double(),
    epanechnikov: lambda u: torch.relu(1 - u**2),
    triangular: lambda u: torch.relu(1 - u),
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("mask", [None, MASK], ids=["open", "masked"])
@pytest.mark.parametrize("width", [1.0, 2.5])
def test_kernel_regression(kernel, mask, width):
    q, k, v = triple(2)

    def theirs(q, k, v):
        weights = KERNELS[kernel](torch.cdist(q, k) / width) * (1.0 if mask is None else torch.tensor(mask))
        return weights @ v / weights.sum(-1, keepdim=True).clamp(min=1e-300)

    right(lambda *a: kernel(*a, mask, width), q, k, v)
    same(kernel(*map(Tensor, (q, k, v)), mask, width), theirs(*map(torch.tensor, (q, k, v))))


@pytest.mark.parametrize("kernel", [boxcar, epanechnikov, triangular], ids=lambda kernel: kernel.__name__)
def test_far_from_all_keys_a_bounded_kernel_gives_zero(kernel):
    q, k, v = triple()
    tensors = Tensor(q + 100), Tensor(k), Tensor(v)
    y = kernel(*tensors)
    y.sum().backward()
    assert not y.value.any()
    assert all(t.grad is None or not t.grad.any() for t in tensors)


def test_the_general_score_with_the_identity_is_the_dot_product():
    q, k, v = map(Tensor, triple())
    same(general(q, k, v, Tensor(np.eye(DIM))), attend(q @ k.T, v).value)


@pytest.mark.parametrize("before", [(), (2,)])
@pytest.mark.parametrize("mask", [None, MASK], ids=["open", "masked"])
def test_additive_scores(before, mask):
    q, _, v = triple(*before)
    k = normal(*before, KEYS, 3, seed=6)
    weights = normal(4, DIM, seed=7), normal(4, 3, seed=8), normal(4, seed=9)

    def theirs(q, k, v, a, b, w):
        pairs = torch.cat(
            [
                q[..., :, None, :].expand(*before, QUERIES, KEYS, DIM),
                k[..., None, :, :].expand(*before, QUERIES, KEYS, 3),
            ],
            -1,
        )
        scores = torch.tanh(pairs @ torch.cat([a, b], 1).T) @ w  # a network of one hidden layer on [q; k]
        return torch.softmax(scores if mask is None else scores.masked_fill(torch.tensor(~mask), -torch.inf), -1) @ v

    right(lambda *a: additive(*a, mask), q, k, v, *weights)
    agree(lambda *a: additive(*a, mask), theirs, q, k, v, *weights)


@pytest.mark.parametrize("before", [(), (2, 2)])
def test_linear_attention_is_the_kernel_matrix_normalised_by_rows(before):
    def theirs(q, k, v):
        kernel = (F.elu(q) + 1) @ (F.elu(k) + 1).mT
        return kernel / kernel.sum(-1, keepdim=True) @ v

    right(linear, *triple(*before))
    agree(linear, theirs, *triple(*before))


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("mask", [None, MASK], ids=["open", "masked"])
def test_many_heads_with_the_packed_weights_of_torch(heads, mask):
    q, k, v = triple(2, dim=4, values=4)
    weights = normal(12, 4, seed=3), normal(12, seed=4), normal(4, 4, seed=5), normal(4, seed=6)

    def mine(q, k, v, *weights):
        return multi_head(q, k, v, heads, *weights, mask)

    def theirs(q, k, v, *weights):
        module = torch.nn.MultiheadAttention(4, heads, batch_first=True).double()
        names = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
        blocked = None if mask is None else torch.tensor(~mask)
        values = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(module, values, (q, k, v), {"need_weights": False, "attn_mask": blocked})[0]

    agree(mine, theirs, q, k, v, *weights)
    if heads == 2:
        right(mine, q, k, v, *weights)


def test_heads_without_biases():
    q, k, v = triple(2, dim=4, values=4)
    weights, zero = [normal(12, 4, seed=3), normal(4, 4, seed=5)], np.zeros
    got = multi_head(*map(Tensor, (q, k, v)), 2, Tensor(weights[0]), None, Tensor(weights[1]), None)
    biased = (Tensor(weights[0]), Tensor(zero(12)), Tensor(weights[1]), Tensor(zero(4)))
    same(got, multi_head(*map(Tensor, (q, k, v)), 2, *biased).value)


def test_the_last_query_stands_at_the_last_key():
    assert causal_mask(2, 3).tolist() == [[True, True, False], [True, True, True]]
    assert causal_mask(3, 1).tolist() == [[False], [False], [True]]


def test_the_order_of_keys_is_nothing_to_attention_and_that_of_queries_is_kept():
    q, k, v = triple()
    y = scaled_dot(Tensor(q), Tensor(k), Tensor(v)).value
    keys, queries = np.array([2, 0, 3, 1]), np.array([1, 2, 0])
    same(scaled_dot(Tensor(q), Tensor(k[keys]), Tensor(v[keys])), y)
    same(scaled_dot(Tensor(q[queries]), Tensor(k), Tensor(v)), y[queries])
