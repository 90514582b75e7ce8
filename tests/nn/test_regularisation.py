from itertools import product

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import Dropout, Residual, ShapeError, StochasticDepth, Thinning
from gradlab.nn.regularisation import l1_penalty, label_smoothing, max_norm, weight_decay


@pytest.mark.parametrize("kind", [Dropout, Thinning, StochasticDepth])
def test_everything_or_nothing_may_be_dropped(kind):
    x = torch.randn(4, 3, requires_grad=True)
    nothing = kind(p=1.0)(x)
    assert torch.equal(nothing, torch.zeros(4, 3))
    assert torch.equal(torch.autograd.grad(nothing.sum(), x)[0], torch.zeros(4, 3))
    assert torch.equal(kind(p=0.0)(x), x)
    assert kind(p=0.5)(torch.zeros(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("kind", [Dropout, Thinning, StochasticDepth])
def test_the_seed_decides_what_is_dropped(kind):
    block, x = kind(0.5), torch.ones(20, 3)
    torch.manual_seed(3)
    first = block(x)
    assert not torch.equal(block(x), first)
    torch.manual_seed(3)
    assert torch.equal(block(x), first)


@pytest.mark.parametrize("kind", [Dropout, Thinning, StochasticDepth])
@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_p_is_a_probability(kind, p):
    with pytest.raises(GradlabError, match="p must be float ≥ 0 ≤ 1, got"):
        kind(p)


def test_kept_units_are_twice_as_large_when_half_are_dropped():
    x = torch.full((100,), 0.8208)
    assert {round(v, 4) for v in Dropout(0.5)(x).tolist()} == {0.0, 1.6416}


def test_through_relu_the_mean_over_all_masks_is_not_what_is_seen_at_test_time():
    # E77: the rule is exact for affine layers alone.
    x, weight, bias, p = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0]), 0.5, 0.5
    outputs = [weight @ (x * torch.tensor(mask) / (1 - p)) + bias for mask in product([0.0, 1.0], repeat=2)]
    before, after = torch.stack(outputs).mean(), torch.stack(outputs).relu().mean()
    assert_close(before, weight @ x + bias)
    assert after > before.relu() + 0.5


def test_dropped_examples_pass_a_residual_block_as_they_are():
    torch.manual_seed(0)
    x = torch.randn(50, 3)
    y = Residual(nn.Sequential(nn.Linear(3, 3), StochasticDepth(0.5)))(x)
    passed = (y == x).all(1)
    assert passed.float().mean().item() == pytest.approx(0.5, abs=0.25)
    assert not (y == x)[~passed].any()


def test_max_norm_bounds_weights_and_not_gradients():
    # E90: from w = (3, 4) and g = (0, 1) with bound 3, clipping would leave (3, 3).
    moved = torch.tensor([[3.0, 4.0]]) - torch.tensor([[0.0, 1.0]])
    assert max_norm(moved, 3.0).norm().item() == pytest.approx(3.0)
    assert_close(max_norm(moved, 5.0), moved)


def test_units_without_weights_have_a_finite_gradient():
    weight = torch.zeros(2, 3, requires_grad=True)
    max_norm(weight, 1.0).sum().backward()
    assert_close(weight.grad, torch.ones(2, 3))


def test_max_norm_wants_rows_and_a_length():
    with pytest.raises(ShapeError, match=r"max_norm: weight must have shape \(units, inputs, …window\), got \(3,\)"):
        max_norm(torch.ones(3), 1.0)
    with pytest.raises(GradlabError, match=r"max_norm: longest must be float > 0, got 0\.0"):
        max_norm(torch.ones(2, 3), 0.0)


def test_in_adam_weight_decay_is_not_an_l2_penalty():
    weight, gradient, lr, strength = torch.tensor([2.0, -1.0]), torch.tensor([10.0, 0.1]), 0.1, 0.5

    def stepped(kind, gradient, **settings):
        moved = weight.clone().requires_grad_()
        moved.grad = gradient
        kind([moved], lr, **settings).step()
        return moved.detach()

    update = (weight - stepped(torch.optim.Adam, gradient)) / lr
    decayed = weight_decay(weight, update, lr, strength)
    penalised = stepped(torch.optim.Adam, gradient + strength * weight)
    assert_close(stepped(torch.optim.AdamW, gradient, weight_decay=strength), decayed)
    assert_close(stepped(torch.optim.Adam, gradient, weight_decay=strength), penalised)
    assert (decayed - penalised).abs().max() > 0.04


def test_a_weight_that_is_zero_is_not_pushed_by_l1():
    weight = torch.tensor([2.0, 0.0, -0.5], requires_grad=True)
    l1_penalty(weight, 0.1).backward()
    assert_close(weight.grad, torch.tensor([0.1, 0.0, -0.1]))


def test_smoothing_goes_from_the_label_to_nothing_known():
    target = torch.tensor([0.0, 1.0, 0.0, 0.0])
    assert torch.equal(label_smoothing(target, 0.0), target)
    assert torch.equal(label_smoothing(target, 1.0), torch.full((4,), 0.25))
    with pytest.raises(GradlabError, match=r"smoothing must be float ≥ 0 ≤ 1, got 1\.5"):
        label_smoothing(target, 1.5)
