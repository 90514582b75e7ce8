import torch
from scratch_helpers import agree, normal, right
from torch.nn import functional as F

from gradlab.scratch.dense import dense
from gradlab.scratch.functions import tanh
from gradlab.scratch.residual import dense_connection, highway, residual

X, WEIGHT, BIAS = normal(3, 4), normal(4, 4, seed=1), normal(4, seed=2)


def inner(weight, bias):
    return lambda x: tanh(dense(x, weight, bias))


def test_residual():
    right(lambda x, w, b: residual(x, inner(w, b)), X, WEIGHT, BIAS)
    agree(lambda x, w, b: residual(x, inner(w, b)), lambda x, w, b: x + F.linear(x, w, b).tanh(), X, WEIGHT, BIAS)


def test_dense_connection():
    def theirs(x, w, b):
        return torch.cat([x, F.linear(x, w, b).tanh()], 1)

    right(lambda x, w, b: dense_connection(x, inner(w, b)), X, WEIGHT, BIAS)
    agree(lambda x, w, b: dense_connection(x, inner(w, b)), theirs, X, WEIGHT, BIAS)


def test_highway():
    gate = normal(4, 4, seed=3), normal(4, seed=4)

    def theirs(x, w, b, gate_weight, gate_bias):
        t = F.linear(x, gate_weight, gate_bias).sigmoid()
        return t * F.linear(x, w, b).tanh() + (1 - t) * x

    right(lambda x, w, b, *gate: highway(x, inner(w, b), *gate), X, WEIGHT, BIAS, *gate)
    agree(lambda x, w, b, *gate: highway(x, inner(w, b), *gate), theirs, X, WEIGHT, BIAS, *gate)
