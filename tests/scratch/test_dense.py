import numpy as np
import pytest
import torch
from scratch_helpers import agree, distinct, normal, right, same
from torch.nn import functional as F

from gradlab.scratch import Tensor
from gradlab.scratch.dense import dense, embedding, maxout
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
