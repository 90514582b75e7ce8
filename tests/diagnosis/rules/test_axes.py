"""Axes that are taken for others, steps that go uphill, targets that say nothing: in trainings, and their twins."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from trainings import adam, batches, fit, found, grave, groups, mlp, rings, sgd, slope, watching

from gradlab.diagnosis.shapes import mixes


class Pooled(nn.Module):
    """Weights for the places of a sequence, by a softmax along one axis."""

    def __init__(self, axis: int):
        super().__init__()
        self.axis, self.score, self.out = axis, nn.Linear(5, 1), nn.Linear(5, 3)

    def forward(self, x):
        return self.out((F.softmax(self.score(x), dim=self.axis) * x).sum(1))


@pytest.mark.parametrize(("axis", "wrong"), [(2, True), (1, False)])
def test_weights_that_are_all_one_are_named_with_their_line(axis, wrong):
    x, y = torch.randn(128, 6, 5), torch.arange(128) % 3
    with watching() as doctor:
        fit(Pooled(axis), F.cross_entropy, x, y)
    assert bool(grave(doctor, "softmax_of_one")) is wrong
    if wrong:
        finding = found(doctor, "softmax_of_one")
        assert finding.measured["shape"] == (32, 6, 1)
        assert f"test_axes.py:{Pooled.forward.__code__.co_firstlineno + 1}" in finding.where


class Turned(nn.Module):
    """A convolution whose channels become columns, by a view or by moving them."""

    def __init__(self, view: bool):
        super().__init__()
        self.view, self.conv, self.out = view, nn.Conv1d(5, 8, 3, padding=1), nn.Linear(8, 3)

    def forward(self, x):
        h = self.conv(x)
        h = h.view(h.shape[0], h.shape[2], h.shape[1]) if self.view else h.transpose(1, 2)
        return self.out(h.relu().mean(1))


@pytest.mark.parametrize("view", [True, False])
def test_a_view_in_place_of_a_transpose(view):
    x, y = torch.randn(128, 5, 6), torch.arange(128) % 3
    with watching() as doctor:
        fit(Turned(view), F.cross_entropy, x, y)
    assert bool(grave(doctor, "view_mixes_axes")) is view


class Attends(nn.Module):
    """Attention of torch's own, over as many places as there are columns."""

    def __init__(self):
        super().__init__()
        self.attention, self.out = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.attention(x, x, x)[0].mean(1))


def test_the_views_of_torchs_own_attention_are_right(seed):
    x, y = torch.randn(128, 8, 8), torch.arange(128) % 3
    with watching() as doctor:
        fit(Attends(), F.cross_entropy, x, y)
    assert not grave(doctor, "view_mixes_axes")


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ((8, 10, 12), (8, 3, 10, 4), True),  # heads before places
        ((8, 4, 10, 3), (8, 10, 12), True),  # and joined again
        ((16, 4, 9, 9), (1296, 4), True),  # classes of pixels
        ((8, 10, 12), (8, 10, 3, 4), False),
        ((8, 10, 12), (8, 5, 24), False),  # two moments side by side
        ((8, 64, 4, 4), (8, 4, 16, 4, 4), False),  # groups of channels
        ((1, 8, 10), (8, 1, 10), False),
        ((), (), False),
    ],
)
def test_only_views_that_give_axes_another_order_mix(before, after, wrong):
    assert mixes(before, after) is wrong


def test_heads_of_the_size_of_a_batch_are_no_mix():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.lift, self.attention, self.out = nn.Linear(5, 32), nn.MultiheadAttention(32, 4), nn.Linear(32, 3)

        def forward(self, x):
            h = self.lift(x.transpose(0, 1))
            return self.out(self.attention(h, h, h)[0].mean(0))

    assert mixes((6, 8, 32), (6, 32, 8))  # (time, batch, width) as (time, batch * heads, width of a head)
    x, y = torch.randn(128, 6, 5), torch.arange(128) % 3
    with watching() as doctor:
        fit(Encoder(), F.cross_entropy, x, y, rows=8)
    assert grave(doctor, "view_mixes_axes") == []


@pytest.mark.parametrize("wrong", [True, False])
def test_steps_along_the_gradient_go_uphill(wrong):
    x, y = groups()
    with watching() as doctor:
        fit(mlp(), F.cross_entropy, x, y, make=lambda p: torch.optim.Adam(p, lr=1e-2, maximize=wrong), steps=60)
    assert [f.slug for f in grave(doctor, "uphill_steps")] == ["uphill_steps"] * wrong


@pytest.mark.parametrize("sign", [1, -1])
def test_updates_by_hand_along_the_gradient_go_uphill(sign):
    x, y = slope()
    w = torch.zeros(6, 1, requires_grad=True)
    with watching() as doctor:
        for inputs, targets in batches(x, y):
            ((inputs @ w - targets) ** 2).mean().backward()
            with torch.no_grad():
                w += sign * 0.02 * w.grad
                w.grad = None
    assert bool(grave(doctor, "uphill_steps")) is (sign > 0)


@pytest.mark.parametrize(("wrong", "factors"), [(True, (0.0, 0.0)), (True, (1.0, -0.1)), (False, (1.0, 0.0))])
def test_a_rate_of_zero_or_below(wrong, factors):
    start, fall = factors
    x, y = groups()
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: start + fall * step)
        for inputs, targets in batches(x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            schedule.step()
    assert bool(grave(doctor, "rate_not_positive")) is wrong


@pytest.mark.parametrize("wrong", [True, False])
def test_labels_that_became_one(wrong):
    x, y = groups()
    with watching() as doctor:
        fit(mlp(), F.cross_entropy, x, (y / 255).long() if wrong else y)
    assert bool(grave(doctor, "constant_target")) is wrong


def test_a_queue_of_candidates_has_its_answer_in_one_place_on_purpose():
    x, _ = groups()
    model, others = mlp(outputs=8), F.normalize(torch.randn(64, 8), dim=1)

    def contrast(output, noisy):
        q, k = F.normalize(output, dim=1), F.normalize(noisy, dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ others.T], 1)
        return F.cross_entropy(logits / 0.2, torch.zeros(len(q), dtype=torch.long))

    with watching() as doctor:
        fit(model, contrast, x, x, make=adam)
    assert grave(doctor, "constant_target") == []


@pytest.mark.parametrize("scale", [255.0, 1 / 255, 1.0])
def test_binary_targets_on_another_scale(scale):
    x, y = rings()
    with watching() as doctor:
        fit(mlp(2, 1), F.binary_cross_entropy_with_logits, x, y[:, None] * scale)
    assert bool(grave(doctor, "target_scale")) is (scale != 1)


@pytest.mark.parametrize("as_number", [True, False])
def test_a_parameter_that_the_loss_sees_as_a_number(as_number):
    class Tempered(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.temperature = mlp(), nn.Parameter(torch.tensor(1.0))

        def forward(self, x):
            return self.net(x) / (self.temperature.item() if as_number else self.temperature)

    x, y = groups()
    with watching() as doctor:
        fit(Tempered(), F.cross_entropy, x, y)
    assert bool(grave(doctor, "broken_graph")) is as_number


@pytest.mark.parametrize("rate", [50.0, 0.1])
def test_a_training_with_torch_func_is_seen(rate):
    x, y = slope()
    model = mlp(6, 1)
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}

    def objective(p, inputs, targets):
        return F.mse_loss(torch.func.functional_call(model, p, (inputs,)), targets)

    with watching() as doctor:
        for inputs, targets in batches(x, y):
            gradients = torch.func.grad(objective)(parameters, inputs, targets)
            parameters = {name: p - rate * gradients[name] for name, p in parameters.items()}
    assert doctor.verdict.steps >= 38
    assert [f.slug for f in grave(doctor, "lr_too_high")] == ["lr_too_high"] * (rate > 1)
