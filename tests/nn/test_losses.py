import math

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError, losses
from gradlab.verification import verify_like

OF_NUMBERS = [
    losses.squared,
    losses.absolute,
    losses.huber,
    losses.binary_cross_entropy,
    losses.gaussian_nll,
    losses.poisson_nll,
]


# Shapes and settings


@pytest.mark.parametrize("loss", OF_NUMBERS)
def test_a_column_of_targets_is_not_spread_over_a_row_of_predictions(loss):
    with pytest.raises((ShapeError, TypeCheckError), match="target"):
        loss(torch.zeros(3), torch.zeros(3, 1))


@pytest.mark.parametrize("shape", [(3, 1), (4,), ()])
def test_classes_have_the_shape_of_the_examples(shape):
    with pytest.raises((ShapeError, TypeCheckError), match="target"):
        losses.cross_entropy(torch.zeros(3, 5), torch.zeros(shape, dtype=torch.long))


def test_the_shapes_are_told_in_one_line():
    with pytest.raises((ShapeError, TypeCheckError)) as error:
        losses.cross_entropy(torch.zeros(3, 5), torch.zeros(3, 4))
    if error.type is ShapeError:
        assert str(error.value) == "loss.cross_entropy: target must have shape (3, 5), got (3, 4)."


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda x: losses.huber(x, x, delta=0.0), "loss.huber: delta must be float > 0, got 0.0."),
        (lambda x: losses.gaussian_nll(x, x, 0.0), "loss.gaussian_nll: std must be positive, got 0.0."),
        (
            lambda x: losses.cross_entropy(x, x, label_smoothing=1.5),
            "loss.cross_entropy: label_smoothing must be float ≥ 0 ≤ 1, got 1.5.",
        ),
    ],
)
def test_a_bad_setting_is_told(call, told):
    with pytest.raises(GradlabError) as error:
        call(torch.zeros(3))
    assert str(error.value) == told


def test_an_unknown_reduction_is_told():
    with pytest.raises((GradlabError, TypeCheckError), match="reduction"):
        losses.squared(torch.zeros(3), torch.zeros(3), reduction="average")


@pytest.mark.parametrize("loss", OF_NUMBERS)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3)])
def test_no_axes_one_entry_and_none(loss, shape):
    x = torch.full(shape, 0.5)
    assert loss(x, x, reduction="none").shape == shape
    assert loss(x, x, reduction="sum").isfinite()


@pytest.mark.parametrize("loss", OF_NUMBERS)
def test_entries_may_lie_anywhere_in_memory(loss):
    x, y = torch.rand(4, 3), torch.rand(4, 3)
    assert_close(loss(x.T, y.T, reduction="none"), loss(x, y, reduction="none").T)


# Worked values


def test_the_half_makes_it_half_of_torchs_mean_squared_error():
    x, y = torch.randn(8), torch.randn(8)
    assert_close(losses.squared(x, y), nn.functional.mse_loss(x, y) / 2)


def test_ten_classes_cost_2_303_before_anything_is_learned():
    loss = losses.cross_entropy(torch.zeros(4, 10), torch.arange(4))
    assert round(loss.item(), 3) == 2.303


def test_least_squares_has_the_largest_likelihood():
    x, y = torch.randn(20, 3, dtype=torch.float64), torch.randn(20, dtype=torch.float64)
    weight = torch.linalg.lstsq(x, y[:, None]).solution[:, 0].requires_grad_()
    losses.gaussian_nll(x @ weight, y, std=0.3).backward()
    assert weight.grad.abs().max() < 1e-13


def test_a_std_that_is_learned_becomes_that_of_the_noise():
    y = 3 * torch.randn(200, dtype=torch.float64)
    log_std = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([log_std], line_search_fn="strong_wolfe")

    def step():
        optimizer.zero_grad()
        loss = losses.gaussian_nll(torch.zeros_like(y), y, log_std.exp())
        loss.backward()
        return loss

    optimizer.step(step)
    assert_close(log_std.exp().detach(), y.square().mean().sqrt(), rtol=1e-5, atol=0)


def test_the_constant_of_a_count_is_exact():
    counts = torch.arange(10, dtype=torch.float64)
    log_rate = torch.zeros_like(counts)
    left_out = losses.poisson_nll(log_rate, counts, full=True, reduction="none")
    left_out = left_out - losses.poisson_nll(log_rate, counts, reduction="none")
    assert_close(left_out, torch.tensor([math.log(math.factorial(n)) for n in range(10)], dtype=torch.float64))


# Classes


def test_classes_are_on_the_last_axis():
    logits, target = torch.randn(2, 3, 5), torch.randint(5, (2, 3))
    wanted = nn.functional.cross_entropy(logits.movedim(-1, 1), target, reduction="none")
    assert_close(losses.cross_entropy(logits, target, reduction="none"), wanted)


def test_classes_are_whole_numbers_of_any_size():
    logits, target = torch.randn(3, 5), torch.tensor([0, 4, 2])
    assert_close(losses.cross_entropy(logits, target.to(torch.int8)), losses.cross_entropy(logits, target))


def test_a_class_that_does_not_exist_is_an_error():
    with pytest.raises(RuntimeError, match="out of bounds"):
        losses.cross_entropy(torch.zeros(1, 3), torch.tensor([-100]))


@pytest.mark.parametrize("soft", [False, True])
def test_what_is_masked_may_be_anything(soft):
    logits = torch.randn(3, 5).index_fill_(0, torch.tensor([1]), math.nan).requires_grad_()
    target = torch.tensor([0, -100, 2])
    if soft:
        target = torch.eye(5)[[0, 0, 2]].index_fill_(0, torch.tensor([1]), math.nan)
    losses.cross_entropy(logits, target, torch.tensor([True, False, True])).backward()
    kept = logits.detach()[[0, 2]].requires_grad_()
    losses.cross_entropy(kept, torch.tensor([0, 2])).backward()
    assert_close(logits.grad[[0, 2]], kept.grad)
    assert not logits.grad[1].any()


def test_with_everything_masked_the_loss_is_0():
    logits = torch.randn(3, 5, requires_grad=True)
    loss = losses.cross_entropy(logits, torch.zeros(3, dtype=torch.long), torch.zeros(3, dtype=torch.bool))
    loss.backward()
    assert loss == 0
    assert not logits.grad.any()


def test_an_impossible_class_without_weight_costs_nothing():
    logits = torch.tensor([0.0, 0.0, -math.inf], requires_grad=True)
    loss = losses.cross_entropy(logits, torch.tensor([0.5, 0.5, 0.0]))
    loss.backward()
    assert_close(loss, torch.tensor(math.log(2)))
    assert logits.grad.isfinite().all()
    assert losses.cross_entropy(logits, torch.tensor([0.0, 0.5, 0.5])) == math.inf


# A user's own


def mine(prediction, target, delta=1.0):
    size = (prediction - target).abs()
    return torch.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta)).mean()


@pytest.mark.parametrize(
    ("made", "values"),
    [(mine, {"reduction": "mean"}), (nn.HuberLoss, {}), (nn.HuberLoss(delta=0.7, reduction="sum"), {})],
)
def test_another_huber_loss_is_found_right(made, values):
    verification = verify_like(made, "loss.huber", values, "mine", cases=5)
    assert verification.passed
    assert sum(result.passed is True for result in verification.results) >= 3


def test_a_mean_squared_error_is_not_the_squared_loss():
    verification = verify_like(nn.MSELoss(), "loss.squared", {}, "mine", cases=5)
    assert "the slope is the prediction minus the target" in [result.name for result in verification.broken]
