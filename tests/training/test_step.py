from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.data import Targets
from gradlab.models import mlp
from gradlab.registry import Part
from gradlab.specs import Table
from gradlab.tasks import Classify, Regress
from gradlab.training.guard import HostGuard, NonFinite
from gradlab.training.optimizers import SEARCHING, Parameters, optimizers
from gradlab.training.step import GradientStep, gradient_norm


class Watched:
    """An optimiser that only remembers what it was given."""

    def __init__(self, model):
        self.parameters = Parameters(model)

    def update(self, gradients, lr, skip=None):
        self.gradients = [None if g is None else g.clone() for g in gradients]


@pytest.fixture
def one_step(examples, make_plan):
    def take(model, rows=7, optimizer=None, **plan):
        optimizer = optimizer or Watched(model)
        task = Classify(Targets(classes=["a", "b", "c"]))
        loss = partial(task.objectives()["loss"].loss, model)
        step = GradientStep(loss, model, optimizer, make_plan(**plan), HostGuard())
        optimizer.stepped = step(examples(45).batch(torch.arange(rows) * 2), 0.1)
        return step, optimizer

    return take


def plain_gradients(model, examples, rows):
    x, y = examples(45).inputs[torch.arange(rows) * 2], examples(45).targets[torch.arange(rows) * 2]
    loss = nn.functional.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    return loss


@pytest.mark.parametrize("rows", [1, 7, 20])
def test_the_gradient_is_that_of_a_plain_backward_of_the_mean_loss(one_step, examples, rows):
    model = mlp(Table(4), 3, hidden=[6])
    _, optimizer = one_step(model, rows)
    loss = plain_gradients(model, examples, rows)
    assert_close(optimizer.gradients, [p.grad for p in model.parameters()], rtol=1e-5, atol=1e-7)
    total, count = optimizer.stepped["loss"]
    assert count == rows
    assert total.item() / rows == pytest.approx(loss.item(), rel=1e-6)


@pytest.mark.parametrize("clip", [1e-3, 0.1, 1e6])
def test_clipping_shortens_the_gradient_as_torch_does(one_step, examples, clip):
    model = mlp(Table(4), 3, hidden=[6])
    step, optimizer = one_step(model, clip=clip)
    plain_gradients(model, examples, 7)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    assert_close(optimizer.gradients, [p.grad for p in model.parameters()], rtol=1e-5, atol=1e-9)
    assert gradient_norm(step) == pytest.approx(norm.item(), rel=1e-5)  # as it was before
    got = torch.cat([g.flatten() for g in optimizer.gradients]).norm().item()
    assert got == pytest.approx(min(clip, norm.item()), rel=1e-3)


class Summed(nn.Module):
    """Two biases that are added to each other: autograd gives both the same tensor for their gradient."""

    def __init__(self):
        super().__init__()
        self.map, self.one, self.other = (
            nn.Linear(4, 3),
            nn.Parameter(torch.zeros(7, 3)),
            nn.Parameter(torch.ones(7, 3)),
        )

    def forward(self, x):
        return self.map(x) + (self.one + self.other)


@pytest.mark.parametrize("plan", [{"clip": 0.01}, {"l1": 0.1}])
def test_a_gradient_that_two_parameters_share_is_changed_once_for_each(one_step, examples, plan):
    model = Summed()
    _, optimizer = one_step(model, **plan)
    plain_gradients(model, examples, 7)
    if "clip" in plan:
        nn.utils.clip_grad_norm_(model.parameters(), plan["clip"])
    want = [p.grad + plan.get("l1", 0.0) * p.sign() * (p.ndim >= 2) for p in model.parameters()]
    assert_close(optimizer.gradients, want, rtol=1e-5, atol=1e-9)


def test_a_parameter_that_the_loss_does_not_reach_has_no_gradient(one_step):
    model = mlp(Table(4), 3, hidden=[6])
    model.register_parameter("unused", nn.Parameter(torch.ones(2)))
    _, optimizer = one_step(model)
    assert dict(zip(optimizer.parameters.names, optimizer.gradients, strict=True))["unused"] is None


def test_gradients_do_not_pile_up_from_step_to_step(one_step):
    model = mlp(Table(4), 3, hidden=[6])
    first = one_step(model)[1].gradients
    assert_close(one_step(model)[1].gradients, first, rtol=0, atol=0)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("name", sorted(set(optimizers) - SEARCHING))
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_gradient_that_is_not_finite_reaches_neither_weights_nor_state(one_step, name, value):
    model = mlp(Table(4), 3, hidden=[6])
    optimizer = optimizers.build(optimizers.resolve(Part(name), "optimizer"), Parameters(model, 0.1))
    one_step(model, optimizer=optimizer)
    before = [p.clone() for p in model.parameters()], {k: [t.clone() for t in v] for k, v in optimizer.state.items()}
    model[-1].register_forward_hook(lambda module, inputs, output: output * value)
    with pytest.raises(NonFinite):
        one_step(model, optimizer=optimizer)
    assert_close(list(model.parameters()), before[0], rtol=0, atol=0)
    assert_close(optimizer.state, before[1], rtol=0, atol=0)
    assert optimizer.step == 1


def test_the_mean_of_several_targets_is_over_all_their_numbers():
    task = Regress(Targets(mean=[0.0, 0.0], std=[1.0, 1.0]))
    output, target = torch.randn(5, 2), torch.randn(5, 2)
    total, count = task.loss(output, target)
    assert_close(total / count, nn.functional.mse_loss(output, target))
