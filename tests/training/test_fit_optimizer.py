"""Optimizers of `torch.optim` given to `fit`: the same weights as in the usual loop, or a message."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

import gradlab as gl
from gradlab.errors import GradlabError

X = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
Y = X[:, :3].argmax(1)
STEPS = 12

SAME = {
    "sgd": partial(torch.optim.SGD, lr=0.1),
    "sgd, decay": partial(torch.optim.SGD, lr=0.1, weight_decay=0.1),
    "momentum": partial(torch.optim.SGD, lr=0.05, momentum=0.9),
    "nesterov": partial(torch.optim.SGD, lr=0.05, momentum=0.8, nesterov=True),
    "adam": partial(torch.optim.Adam, lr=0.01, betas=(0.8, 0.9), eps=1e-6),
    "adam, decay": partial(torch.optim.Adam, lr=0.01, weight_decay=0.2),
    "adam, decoupled": partial(torch.optim.Adam, lr=0.01, weight_decay=0.2, decoupled_weight_decay=True),
    "adamw": partial(torch.optim.AdamW, lr=0.01),
    "rmsprop": partial(torch.optim.RMSprop, lr=0.01, alpha=0.9, momentum=0.5, centered=True),
    "adagrad": partial(torch.optim.Adagrad, lr=0.05, initial_accumulator_value=0.1),
    "adadelta": partial(torch.optim.Adadelta, lr=0.5, rho=0.8),
}


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3))


def usual_loop(build):
    model = net()
    optimizer = build(model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        cross_entropy(model(X), Y).backward()
        optimizer.step()
    return list(model.parameters())


def fitted(optimizer, model=None, **options):
    options = {"steps": STEPS, "batch_size": "full", "doctor": False, **options}
    return list(gl.fit(model or net(), (X, Y), optimizer=optimizer, **options).model.parameters())


@pytest.mark.parametrize("form", ["instance", "class or partial"])
@pytest.mark.parametrize("kind", SAME)
def test_weights_are_those_of_the_usual_loop(kind, form):
    build = SAME[kind]
    model = net()
    ours = fitted(build(model.parameters()) if form == "instance" else build, model)
    theirs = usual_loop(lambda model: build(model.parameters()))
    assert_close(ours, theirs, rtol=2e-5, atol=2e-7)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW, torch.optim.Adadelta])
def test_a_class_has_its_own_defaults_and_the_rate_and_decay_of_the_call(kind):
    assert_close(fitted(kind), usual_loop(lambda model: kind(model.parameters())), rtol=2e-5, atol=2e-7)
    options = {"lr": 0.03, "weight_decay": 0.3}
    theirs = usual_loop(lambda model: kind(model.parameters(), **options))
    assert_close(fitted(kind, **options), theirs, rtol=2e-5, atol=2e-7)


def test_parameter_groups_keep_their_rates_and_decays():
    def build(model):
        return torch.optim.AdamW(
            [
                {"params": model[0].parameters(), "lr": 0.001, "weight_decay": 0.5},
                {"params": [model[2].weight, model[3].weight], "lr": torch.tensor(0.02)},
                {"params": [model[2].bias, model[3].bias], "weight_decay": 0.0},
            ],
            lr=0.05,
        )

    model = net()
    assert_close(fitted(build(model), model), usual_loop(build), rtol=2e-5, atol=2e-7)


def with_state(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    cross_entropy(model(X), Y).backward()
    optimizer.step()
    return optimizer


REFUSED = {
    "no rule of ours": (lambda m: torch.optim.NAdam(m.parameters()), "same as NAdam"),
    "amsgrad": (lambda m: torch.optim.Adam(m.parameters(), amsgrad=True), "no Adam with amsgrad=True"),
    "maximize": (lambda m: torch.optim.SGD(m.parameters(), maximize=True), "no SGD with maximize=True"),
    "dampening": (lambda m: torch.optim.SGD(m.parameters(), momentum=0.9, dampening=0.5), "with dampening=0.5"),
    "a rate that decays": (lambda m: torch.optim.Adagrad(m.parameters(), lr_decay=0.1), "with lr_decay=0.1"),
    "a state": (with_state, "has made steps before"),
    "another model": (lambda m: torch.optim.SGD(net().parameters()), "a parameter of shape .* does not have"),
    "a part of the model": (lambda m: torch.optim.SGD(m[0].parameters()), "does not have 2.bias and 3 more"),
    "options by group": (
        lambda m: torch.optim.SGD([{"params": m[0].parameters(), "momentum": 0.9}, {"params": [*m[2:].parameters()]}]),
        "differ in momentum",
    ),
    "an unknown class": (lambda m: type("Mine", (torch.optim.SGD,), {}), "same as Mine.*gradlab.register"),
    "a class that needs more": (lambda m: partial(torch.optim.SGD, nosuch=1), "cannot be built"),
    "a rate of 0": (lambda m: torch.optim.SGD(m.parameters(), lr=0.0), "lr=0.0 is not valid"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_done_exactly_is_refused_and_the_weights_stay(kind):
    build, says = REFUSED[kind]
    model = net()
    optimizer = build(model)
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(GradlabError, match=says):
        fitted(optimizer, model)
    assert_close(list(model.parameters()), before, rtol=0, atol=0)


@pytest.mark.parametrize("option", [{"lr": 0.1}, {"weight_decay": 0.1}, {"groups": {"0": {"lr": 0.1}}}])
def test_a_rate_decay_or_group_next_to_an_instance_is_refused(option):
    model = net()
    with pytest.raises(GradlabError, match=f"{next(iter(option))} and optimizer=SGD"):
        fitted(torch.optim.SGD(model.parameters(), lr=0.1), model, **option)
