import numpy as np
import pytest
import torch
from scratch_helpers import agree, normal, right, same
from torch.nn import functional as F

from gradlab.scratch import Tensor
from gradlab.scratch.dense import dense
from gradlab.scratch.regularisation import (
    dense_after_thinned,
    dropout,
    kept,
    l1_penalty,
    l2_penalty,
    label_smoothing,
    max_norm,
    thinned,
    weight_decay,
)


def mask(*shape, p=0.4):
    return kept(shape, p, np.random.default_rng(3))


def test_the_gradient_of_dropout_goes_where_the_value_came_through():
    right(lambda x: dropout(x, mask(4, 5), 0.4), normal(4, 5))
    right(lambda x: thinned(x, mask(4, 5)), normal(4, 5))
    right(lambda x: dropout(x, mask(4, 1), 0.4), normal(4, 5))  # whole examples
    x = Tensor(np.ones((1000, 10)))
    y = dropout(x, mask(1000, 10), 0.4)
    y.sum().backward()
    assert np.array_equal(x.grad, y.value)
    assert np.mean(y.value == 0) == pytest.approx(0.4, abs=0.02)


def test_the_mean_of_dropout_is_its_input_and_that_of_its_first_form_is_made_up_for_at_test_time():
    x, weight, bias = Tensor(normal(4)), Tensor(normal(3, 4, seed=1)), Tensor(normal(3, seed=2) + 5)
    p = 0.2
    many = Tensor(np.tile(x.value, (200_000, 1)))
    drawn = mask(*many.shape, p=p)
    scaled = dense(dropout(many, drawn, p), weight, bias).value.mean(0)
    first = dense(thinned(many, drawn), weight, bias).value.mean(0)
    row = x.reshape(1, 4)
    assert np.allclose(scaled, dense(row, weight, bias).value[0], atol=0.02)
    assert np.allclose(first, dense_after_thinned(row, weight, bias, p).value[0], atol=0.02)
    right(lambda x, w, b: dense_after_thinned(x, w, b, p), normal(2, 4), weight.value, bias.value)


def test_penalties():
    right(lambda w: l1_penalty(w, 0.3), normal(3, 4))
    right(lambda w: l2_penalty(w, 0.3), normal(3, 4))
    agree(lambda w: l1_penalty(w, 0.3), lambda w: 0.3 * w.abs().sum(), normal(3, 4))
    agree(lambda w: l2_penalty(w, 0.3), lambda w: 0.15 * (w * w).sum(), normal(3, 4))


def test_weight_decay_is_the_step_of_torchs_sgd():
    weight, gradient = normal(3, 4), normal(3, 4, seed=1)
    right(lambda w, u: weight_decay(w, u, 0.1, 0.5), weight, gradient)
    moved = torch.tensor(weight, requires_grad=True)
    moved.grad = torch.tensor(gradient)
    torch.optim.SGD([moved], lr=0.1, weight_decay=0.5).step()
    same(weight_decay(Tensor(weight), Tensor(gradient), 0.1, 0.5), moved)


@pytest.mark.parametrize("shape", [(5, 3), (4, 2, 3, 3)])
def test_max_norm(shape):
    def theirs(w):
        lengths = w.flatten(1).norm(dim=1).reshape(-1, *(1 for _ in shape[1:]))
        return torch.where(lengths > 1.7, 1.7 * w / lengths, w)

    right(lambda w: max_norm(w, 1.7), normal(*shape))
    agree(lambda w: max_norm(w, 1.7), theirs, normal(*shape))


def test_label_smoothing_is_that_of_torchs_cross_entropy():
    target, logits = np.eye(4)[[0, 2, 3]], torch.tensor(normal(3, 4))
    right(lambda t: label_smoothing(t, 0.2), target)
    smoothed = torch.tensor(label_smoothing(Tensor(target), 0.2).value)
    wanted = F.cross_entropy(logits, torch.tensor([0, 2, 3]), label_smoothing=0.2)
    same(F.cross_entropy(logits, smoothed), wanted)
