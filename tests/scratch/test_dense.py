import numpy as np
import pytest
import torch
from scratch_helpers import agree, distinct, normal, right, same
from torch.nn import functional as F

from gradlab.scratch import Tensor
from gradlab.scratch.dense import dense, dense_after_thinned, dropout, embedding, maxout, thinned
from gradlab.scratch.functions import relu


@pytest.mark.parametrize("shape", [(5, 3), (1, 3), (2, 4, 3)])
def test_dense(shape):
    arrays = normal(*shape), normal(2, 3, seed=1), normal(2, seed=2)
    right(dense, *arrays)
    agree(dense, F.linear, *arrays)
    agree(dense, F.linear, *arrays[:2])


def test_embedding_is_the_product_with_one_hot_vectors():
    indices, table = np.array([[0, 3, 3], [1, 0, 3]]), normal(5, 2)
    right(lambda table: embedding(indices, table), table)
    agree(lambda table: embedding(indices, table), lambda table: F.embedding(torch.tensor(indices), table), table)
    same(embedding(indices, Tensor(table)), np.eye(5)[indices] @ table)


def test_maxout_is_the_largest_of_affine_maps():
    x, weight, bias = distinct(5, 3), normal(4, 2, 3, seed=1), normal(4, 2, seed=2)

    def theirs(x, weight, bias):
        return torch.stack([F.linear(x, w, b) for w, b in zip(weight, bias, strict=True)]).amax(0)

    right(maxout, x, weight, bias)
    agree(maxout, theirs, x, weight, bias)


def test_maxout_of_the_identity_and_zero_is_relu():
    x = Tensor(normal(5, 3))
    same(maxout(x, Tensor([np.eye(3), np.zeros((3, 3))]), Tensor(np.zeros((2, 3)))), relu(x).value)


@pytest.mark.parametrize("form", [dropout, thinned])
def test_the_gradient_of_dropout_goes_where_the_value_came_through(form):
    right(lambda x: form(x, 0.4, np.random.default_rng(3)), normal(4, 5))
    x = Tensor(np.ones((1000, 10)))
    y = form(x, 0.4, np.random.default_rng(3))
    y.sum().backward()
    assert np.array_equal(x.grad, y.value)
    assert np.mean(y.value == 0) == pytest.approx(0.4, abs=0.02)


def test_the_mean_of_dropout_is_its_input_and_that_of_its_first_form_is_made_up_for_at_test_time():
    x, weight, bias = Tensor(normal(4)), Tensor(normal(3, 4, seed=1)), Tensor(normal(3, seed=2) + 5)
    rng, p = np.random.default_rng(0), 0.2
    many = Tensor(np.tile(x.value, (200_000, 1)))
    scaled = dense(dropout(many, p, rng), weight, bias).value.mean(0)
    first = dense(thinned(many, p, rng), weight, bias).value.mean(0)
    row = x.reshape(1, 4)
    assert np.allclose(scaled, dense(row, weight, bias).value[0], atol=0.02)
    assert np.allclose(first, dense_after_thinned(row, weight, bias, p).value[0], atol=0.02)
    right(lambda x, w, b: dense_after_thinned(x, w, b, p), normal(2, 4), weight.value, bias.value)
