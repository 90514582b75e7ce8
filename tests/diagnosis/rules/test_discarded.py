"""Gradients that are cleared before anybody has stepped along them, and those that are read first."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from trainings import adam, batches, found, grave, groups, mlp, sgd, watching


def accumulate(every, clear_each, make=sgd, clip=False):
    model = mlp()
    optimizer = make(model.parameters())
    optimizer.zero_grad()
    for i, (x, y) in enumerate(batches(*groups(), steps=48)):
        if clear_each:
            optimizer.zero_grad()
        (F.cross_entropy(model(x), y) / every).backward()
        if i % every == every - 1:
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad()


@pytest.mark.parametrize("every", [2, 4])
@pytest.mark.parametrize("make", [sgd, adam])
@pytest.mark.parametrize("clip", [False, True])
def test_accumulation_that_begins_anew_with_each_batch(every, make, clip):
    with watching() as doctor:
        accumulate(every, clear_each=True, make=make, clip=clip)
    finding = found(doctor, "batches_unused")
    assert finding.severity == "error"
    assert finding.measured["discarded"] == (every - 1) * finding.measured["checked"]


@pytest.mark.parametrize("every", [1, 4])
def test_accumulation_is_silent(every):
    with watching() as doctor:
        accumulate(every, clear_each=every == 1)
    assert grave(doctor, "batches_unused") == []


def test_gradients_of_each_task_are_read_and_put_together():
    model = mlp()
    optimizer = sgd(model.parameters())
    with watching() as doctor:
        for x, y in batches(*groups(), steps=30):
            parts = []
            for rows in (slice(0, 16), slice(16, 32)):
                optimizer.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                parts.append([p.grad.clone() for p in model.parameters()])
            for p, *grads in zip(model.parameters(), *parts, strict=True):
                p.grad = torch.stack(grads).mean(0)
            optimizer.step()
    assert grave(doctor, "batches_unused") == []


def test_a_step_up_the_slope_before_the_step_down():
    """Sharpness-aware minimisation: the first gradient moves the weights, the second one is stepped along."""
    model = mlp()
    optimizer = sgd(model.parameters())
    with watching() as doctor:
        for x, y in batches(*groups(), steps=30):
            before = copy.deepcopy(model.state_dict())
            for first in (True, False):
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                if first:
                    with torch.no_grad():
                        for p in model.parameters():
                            p.add_(0.05 * p.grad)
            with torch.no_grad():
                for name, p in model.named_parameters():
                    p.copy_(before[name])
            optimizer.step()
    assert grave(doctor, "batches_unused") == []


def test_a_generator_leaves_gradients_in_its_discriminator():
    made, judge = mlp(4, 8), mlp(8, 1)
    g, d = adam(made.parameters()), adam(judge.parameters())
    with watching() as doctor:
        for x, _ in batches(*groups(), steps=30):
            d.zero_grad()
            fake = made(torch.randn(32, 4))
            (F.softplus(-judge(x)).mean() + F.softplus(judge(fake.detach())).mean()).backward()
            d.step()
            g.zero_grad()
            F.softplus(-judge(fake)).mean().backward()
            g.step()
    assert grave(doctor, "batches_unused") == []


def test_a_large_model_by_hand_that_is_read_again_at_the_end():
    """Updates of .data, and a model that is gone when the script ends."""
    x, y = groups()
    with watching() as doctor:
        model = nn.Sequential(nn.Linear(8, 2000), nn.ReLU(), nn.Linear(2000, 1000), nn.ReLU(), nn.Linear(1000, 4))
        for a, b in batches(x, y, steps=30):
            model.zero_grad()
            F.cross_entropy(model(a), b).backward()
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-0.05)
        del model, p
    assert grave(doctor, "never_updated") == []
    assert doctor.record.steps >= 25
