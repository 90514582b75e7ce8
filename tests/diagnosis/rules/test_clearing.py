"""Gradients that are never cleared, steps without any, parts that are summed; and loops that only look so."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainings import adam, batches, found, grave, groups, mlp, series, sgd, slope, watching

CLEARING = ("missing_zero_grad", "step_before_backward", "unscaled_accumulation")


# -- never cleared -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [sgd, adam])
@pytest.mark.parametrize("seed", range(2))
def test_gradients_are_never_cleared(make, seed):
    torch.manual_seed(seed)
    model = mlp()
    with watching() as doctor:
        optimizer = make(model.parameters())
        for x, y in batches(*groups()):
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    finding = found(doctor, "missing_zero_grad")
    assert finding.severity == "error"
    assert "test_clearing.py" in finding.where
    assert finding.since_step == 1
    assert "zero_grad()" in finding.fix
    assert doctor.verdict.findings[0] is finding


def test_they_are_cleared_once_in_an_epoch():
    rnn, head = nn.GRU(5, 12, batch_first=True), nn.Linear(12, 1)
    x, _ = series(rows=256)
    loader = DataLoader(TensorDataset(x, x.sum((1, 2))), batch_size=16, shuffle=True)
    with watching() as doctor:
        optimizer = torch.optim.RMSprop([*rnn.parameters(), *head.parameters()], lr=1e-3)
        for _ in range(3):
            optimizer.zero_grad()
            for inputs, targets in loader:
                loss = (head(rnn(inputs)[0][:, -1]).squeeze(1) - targets).abs().mean()
                loss.backward()
                optimizer.step()
    assert found(doctor, "missing_zero_grad").severity == "error"


def test_the_smallest_parameters_are_frozen():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    for layer in model[::2]:
        layer.bias.requires_grad_(False)
    with watching() as doctor:
        optimizer = sgd(model.parameters(), lr=0.01)
        for x, y in batches(*groups()):
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert found(doctor, "missing_zero_grad").severity == "error"


def test_the_closure_does_not_clear():
    x, y = slope()
    model = mlp(6, 1)
    with watching() as doctor:
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

        def closure():
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(20):
            optimizer.step(closure)
    assert found(doctor, "missing_zero_grad").severity == "error"


def test_updates_by_hand_without_clearing():
    first, out = (0.4 * torch.randn(8, 16)).requires_grad_(), (0.3 * torch.randn(16, 4)).requires_grad_()
    with watching() as doctor:
        for x, y in batches(*groups()):
            F.cross_entropy(torch.relu(x @ first) @ out, y).backward()
            with torch.no_grad():
                for weight in (first, out):
                    weight -= 0.05 * weight.grad
    finding = found(doctor, "missing_zero_grad")
    assert finding.severity == "error"
    assert "test_clearing.py" in finding.where
    assert "grad" in finding.fix


@pytest.mark.parametrize("clear", ["zero", "none", "model", "before", "after"])
def test_every_way_to_clear(clear):
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for x, y in batches(*groups()):
            if clear in ("zero", "before"):
                optimizer.zero_grad(set_to_none=clear == "before")
            elif clear == "model":
                model.zero_grad()
            elif clear == "none":
                for parameter in model.parameters():
                    parameter.grad = None
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if clear == "after":
                optimizer.zero_grad()
    assert grave(doctor) == []


@pytest.mark.parametrize("parts", [2, 4])
def test_accumulation(parts):
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for number, (x, y) in enumerate(batches(*groups(), steps=40 * parts, rows=16)):
            (F.cross_entropy(model(x), y) / parts).backward()
            if (number + 1) % parts == 0:
                optimizer.step()
                optimizer.zero_grad()
    assert grave(doctor) == []


def test_two_networks_against_each_other():
    """The generator's backward pass leaves gradients in the discriminator, which are cleared before its own."""
    real = torch.randn(256, 2) @ torch.randn(2, 2) + 1
    maker, critic = mlp(4, 2), mlp(2, 1)
    with watching() as doctor:
        theirs, ours = adam(maker.parameters(), lr=1e-3), adam(critic.parameters(), lr=1e-3)
        for (x,) in batches(real, steps=60):
            fake = maker(torch.randn(32, 4))
            ours.zero_grad()
            F.softplus(-critic(x)).mean().backward()
            F.softplus(critic(fake.detach())).mean().backward()
            ours.step()
            theirs.zero_grad()
            F.softplus(-critic(fake)).mean().backward()
            theirs.step()
    assert grave(doctor) == []


def test_turns_that_share_a_line():
    real = torch.randn(256, 2) @ torch.randn(2, 2) + 1
    maker, critic = mlp(4, 2), mlp(2, 1)
    with watching() as doctor:
        theirs, ours = sgd(maker.parameters(), lr=0.01), sgd(critic.parameters(), lr=0.01)
        for (x,) in batches(real, steps=60):
            for optimizer in (ours, theirs):
                fake = critic(maker(torch.randn(32, 4)))
                target = torch.zeros(32, 1) if optimizer is ours else torch.ones(32, 1)
                loss = F.binary_cross_entropy_with_logits(fake, target)
                if optimizer is ours:
                    loss = loss + F.binary_cross_entropy_with_logits(critic(x), torch.ones(32, 1))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    assert grave(doctor, *CLEARING) == []


def test_a_closure():
    x, y = slope()
    model = mlp(6, 1)
    with watching() as doctor:
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(12):
            optimizer.step(closure)
    assert grave(doctor) == []


def test_a_closure_that_learns_nothing_is_no_sum_of_parts():
    x, y = torch.randn(64, 3), torch.randn(64, 1)
    model = nn.Linear(3, 1)
    with watching() as doctor:
        optimizer = torch.optim.LBFGS(model.parameters(), lr=1e-7, max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(20):
            optimizer.step(closure)
    assert grave(doctor, *CLEARING) == []


def test_gradients_of_autograd_are_put_in_place():
    """They replace what was there; nothing has to be cleared."""
    model = mlp()
    parameters = list(model.parameters())
    with watching() as doctor:
        optimizer = sgd(parameters)
        for x, y in batches(*groups()):
            gradients = torch.autograd.grad(F.cross_entropy(model(x), y), parameters)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            optimizer.step()
    assert grave(doctor) == []


def test_two_losses_with_a_backward_pass_each():
    x, y = groups()
    model = mlp(outputs=5)
    with watching() as doctor:
        optimizer = sgd(model.parameters(), lr=0.05)
        for inputs, targets in batches(x, y):
            out = model(inputs)
            optimizer.zero_grad()
            F.cross_entropy(out[:, :4], targets).backward(retain_graph=True)
            (0.1 * F.mse_loss(out[:, 4], inputs.norm(dim=1))).backward()
            optimizer.step()
    assert grave(doctor, *CLEARING) == []


def test_a_penalty_on_the_gradient():
    x, y = groups()
    model = nn.Sequential(nn.Linear(8, 16), nn.Softplus(), nn.Linear(16, 4))
    with watching() as doctor:
        optimizer = adam(model.parameters())
        for inputs, targets in batches(x, y):
            inputs.requires_grad_()
            loss = F.cross_entropy(model(inputs), targets)
            (slopes,) = torch.autograd.grad(loss, inputs, create_graph=True)
            optimizer.zero_grad()
            (loss + slopes.square().sum()).backward()
            optimizer.step()
    assert grave(doctor) == []


# -- steps without a gradient ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [sgd, adam])
@pytest.mark.parametrize("order", ["cleared in between", "step first", "backward forgotten once cleared"])
def test_a_step_finds_no_gradient(order, make):
    model = mlp()
    with watching() as doctor:
        optimizer = make(model.parameters())
        for x, y in batches(*groups()):
            loss = F.cross_entropy(model(x), y)
            if order == "cleared in between":
                loss.backward()
                optimizer.zero_grad()
                optimizer.step()
            elif order == "step first":
                optimizer.zero_grad()
                optimizer.step()
                loss.backward()
            else:
                loss.backward()
                model.zero_grad(set_to_none=False)
                optimizer.step()
    finding = found(doctor, "step_before_backward")
    assert finding.severity == "error"
    assert "test_clearing.py" in finding.where
    assert finding.since_step <= 1
    assert doctor.verdict.findings[0] is finding


def test_a_dead_network_is_not_a_step_without_a_gradient():
    model = mlp()
    nn.init.constant_(model[0].bias, -100.0)
    nn.init.zeros_(model[2].weight)
    model[2].bias.requires_grad_(False)
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for x, y in batches(*groups()):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert grave(doctor, *CLEARING) == []


def test_an_optimiser_that_waits_for_its_turn():
    """Its parameters take part only in the second half."""
    x, y = groups()
    model, extra = mlp(), nn.Linear(8, 4)
    with watching() as doctor:
        ours, theirs = sgd(model.parameters()), sgd(extra.parameters())
        for step, (inputs, targets) in enumerate(batches(x, y)):
            out = model(inputs) + (extra(inputs) if step >= 36 else 0)
            ours.zero_grad()
            theirs.zero_grad()
            F.cross_entropy(out, targets).backward()
            ours.step()
            theirs.step()
    assert grave(doctor, *CLEARING) == []


# -- parts that are summed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["cross entropy", "by hand"])
def test_parts_are_summed_and_the_steps_are_too_long(style):
    parts = 8
    x, y = groups(rows=1024, classes=3) if style == "cross entropy" else slope(rows=1024)
    model = mlp(8, 3) if style == "cross entropy" else nn.Linear(6, 1)
    with watching() as doctor:
        optimizer = sgd(model.parameters(), lr=6.0 if style == "cross entropy" else 0.4)
        for number, (inputs, targets) in enumerate(batches(x, y, steps=30 * parts, rows=8)):
            out = model(inputs)
            loss = F.cross_entropy(out, targets) if style == "cross entropy" else ((out - targets) ** 2).mean()
            loss.backward()
            if (number + 1) % parts == 0:
                optimizer.step()
                optimizer.zero_grad()
    finding = found(doctor, "unscaled_accumulation")
    assert finding.severity == "error"
    assert "test_clearing.py" in finding.where
    assert f"loss / {parts}" in finding.fix


@pytest.mark.parametrize("make", [sgd, adam])
def test_parts_that_are_summed_and_do_no_harm(make):
    model = mlp()
    with watching() as doctor:
        optimizer = make(model.parameters(), lr=0.02)
        for number, (x, y) in enumerate(batches(*groups(), steps=160, rows=8)):
            F.cross_entropy(model(x), y).backward()
            if number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    assert grave(doctor) == []
    assert found(doctor, "unscaled_accumulation").severity == "note"


def test_parts_whose_loss_is_a_sum_are_divided_by_hand():
    model = mlp()
    with watching() as doctor:
        optimizer = sgd(model.parameters())
        for number, (x, y) in enumerate(batches(*groups(), steps=160, rows=8)):
            (F.cross_entropy(model(x), y, reduction="sum") / 32).backward()
            if number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    assert grave(doctor) == []
