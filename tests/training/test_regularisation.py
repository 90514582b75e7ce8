import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from gradlab.models import lenet, mlp
from gradlab.registry import Part
from gradlab.specs import Picture, Table
from gradlab.training.optimizers import Parameters
from gradlab.training.regularisation import add_l1, limit_rows, penalty


def by_hand(model, decay, l1, everything):
    chosen = [p.detach().double() for p in model.parameters() if everything or p.ndim >= 2]
    return sum(decay / 2 * (w**2).sum() + l1 * w.abs().sum() for w in chosen).item()


@pytest.mark.parametrize("decay_all", [False, True])
def test_the_penalty_is_half_the_squares_and_all_the_sizes(make_plan, decay_all):
    model = mlp(Table(4), 3, hidden=[6], norm=Part("batch"))
    plan = make_plan(weight_decay=0.3, l1=0.05, decay_all=decay_all)
    assert penalty(model, plan).item() == pytest.approx(by_hand(model, 0.3, 0.05, decay_all), rel=1e-5)
    assert penalty(model, make_plan()).item() == 0


def test_the_gradient_of_the_penalty_is_what_the_step_adds(make_plan):
    model = mlp(Table(4), 3, hidden=[6])
    plan = make_plan(l1=0.05)
    gradients = torch.autograd.grad(penalty(model, plan), list(model.parameters()), allow_unused=True)
    zeros = [torch.zeros_like(p) for p in model.parameters()]
    added = add_l1(zeros, Parameters(model), 0.05)
    assert_close(added, [z if g is None else g for z, g in zip(zeros, gradients, strict=True)])


def test_l1_moves_a_weight_towards_zero_and_leaves_one_that_is_there():
    model = nn.Linear(3, 1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[2.0, -0.5, 0.0]]))
    flat = [torch.zeros(1, 3), torch.zeros(1)]
    assert_close(add_l1(flat, Parameters(model), 0.1), [torch.tensor([[0.1, -0.1, 0.0]]), torch.zeros(1)])
    assert add_l1(flat, Parameters(model, decay_all=True), 0.1)[1].item() == pytest.approx(
        0.1 * model.bias.sign().item()
    )
    assert add_l1([None, None], Parameters(model), 0.1) == [None, None]


def test_l1_leaves_fewer_weights_than_weight_decay_does(make_training, run):
    def large(**plan):
        training = run(make_training(optimizer="sgd", lr=0.1, epochs=60, keep="last", validation=None, **plan))
        first = next(training.model.parameters())
        return (first.abs() > 0.02).sum().item()

    assert large(l1=0.02) < large(weight_decay=0.02)


def test_the_logged_loss_is_that_of_the_data_alone(make_training, run):
    first = {"steps": 1, "log_every": 1, "validation": None}
    plain, penalised = (run(make_training(**first, **plan)) for plan in ({}, {"l1": 0.5, "weight_decay": 0.5}))
    assert plain.record.losses() == penalised.record.losses()


@pytest.mark.parametrize(
    "make", [lambda: mlp(Table(4), 3, hidden=[6]), lambda: lenet(Picture(1, 28, 28), 10)], ids=["mlp", "lenet"]
)
@pytest.mark.parametrize("longest", [0.1, 0.6, 1e3])
def test_max_norm_shortens_the_weights_into_each_unit_that_are_too_long(make, longest):
    torch.manual_seed(0)
    weights = [p.detach() for p in make().parameters() if p.ndim >= 2]
    before = [w.clone() for w in weights]
    limit_rows(weights, longest)
    for weight, old in zip(weights, before, strict=True):
        for row, was in zip(weight, old, strict=True):  # one unit each
            assert_close(row, was * min(1.0, longest / was.norm().item()))
    assert_close(weights, [torch.renorm(w, 2, 0, longest) for w in before])


def test_max_norm_is_not_clipping():
    # E90: from w = (3, 4) and g = (0, 1) with bound 3, max-norm ends on the sphere of radius 3; clipping leaves (3, 3).
    weight = torch.tensor([[3.0, 4.0]]) - torch.tensor([[0.0, 1.0]])
    limit_rows([weight], 3.0)
    assert weight.norm().item() == pytest.approx(3.0)
    assert (weight - torch.tensor([[3.0, 3.0]])).norm() > 1


def test_max_norm_reaches_weights_whose_memory_is_in_another_order():
    weight = torch.randn(4, 3, 5, 5).to(memory_format=torch.channels_last)
    limit_rows([weight], 0.5)
    assert_close(weight.flatten(1).norm(dim=1), torch.full((4,), 0.5))


def test_units_without_weights_stay_without():
    weight = torch.zeros(2, 3)
    limit_rows([weight], 1.0)
    assert torch.equal(weight, torch.zeros(2, 3))


@given(st.floats(0.01, 10))
def test_a_set_flag_leaves_the_rows_as_they_are(longest):
    weight = torch.randn(3, 4)
    before = weight.clone()
    limit_rows([weight], longest, torch.ones(()))
    assert torch.equal(weight, before)
    limit_rows([weight], longest, torch.zeros(()))
    assert (weight.norm(dim=1) <= longest * (1 + 1e-5)).all()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_rows_are_never_longer_than_asked_after_an_update(make_training, run, optimizer):
    training = run(make_training(optimizer=optimizer, lr=0.3, max_norm=0.4, keep="last"))
    lengths = [p.norm(dim=1).max().item() for p in training.model.parameters() if p.ndim == 2]
    assert max(lengths) == pytest.approx(0.4, rel=1e-5)  # and it did bind
    free = run(make_training(optimizer=optimizer, lr=0.3, keep="last"))
    assert max(p.norm(dim=1).max().item() for p in free.model.parameters() if p.ndim == 2) > 0.5
