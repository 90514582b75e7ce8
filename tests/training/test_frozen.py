"""Parts that stay as they are for a while or for good, against torch's own optimisers and to the bit."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.models import mlp
from gradlab.registry import Part
from gradlab.specs import Table
from gradlab.training.observers import Observer
from gradlab.training.transfer import start_in_words

# 45 examples in batches of 8: 6 steps an epoch, 18 in all.
FREEZE = {"freeze": ["trunk"], "lr": 0.01, "keep": "last", "weight_decay": 0.1}


class Seen(Observer):
    """State and gradients after each step."""

    every = 1

    def __init__(self):
        self.states, self.norms = [], []

    def start(self, training):
        self.states.append({n: v.clone() for n, v in training.model.state_dict().items()})

    def step(self, training):
        self.start(training)
        self.norms.append(training.gradient_norms())

    def moved(self, name):
        """In which steps."""
        pairs = zip(self.states, self.states[1:], strict=False)
        return [i for i, (before, after) in enumerate(pairs) if not torch.equal(before[name], after[name])]


def net(norm="batch"):
    torch.manual_seed(0)
    return mlp(Table(4), 3, hidden=[8], norm=norm and Part(norm))


def names(model):
    return list(model.state_dict())


def watched(make_training, run, **plan):
    seen = Seen()
    run(make_training(model=net(plan.pop("norm", "batch")), observers=[seen], **plan))
    return seen


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "momentum", "muon", "lion", "rmsprop"])
def test_a_frozen_trunk_keeps_every_bit_and_its_head_learns(make_training, run, optimizer):
    penalties = {"l1": 0.01, "max_norm": 0.1, "clip": 1.0, "ema": 0.9}
    seen = watched(make_training, run, **FREEZE, **penalties, optimizer=optimizer)
    for name in names(net()):
        assert seen.moved(name) == (list(range(18)) if name.startswith("3.") else []), name
    assert all(set(norms) == {"3.weight", "3.bias"} for norms in seen.norms)


def test_the_running_statistics_of_a_frozen_part_stay_and_are_the_ones_it_uses(make_training, run):
    class Modes(Observer):
        every, seen = 1, []

        def step(self, training):
            self.seen.append((training.model[1].training, training.model[2].training))

    modes = Modes()
    run(make_training(model=net(), observers=[modes], **FREEZE, thaw=0.5))
    assert modes.seen == [(False, True)] * 9 + [(True, True)] * 9


def test_what_is_thawed_learns_from_that_step_on(make_training, run):
    seen = watched(make_training, run, **FREEZE, thaw=0.5)
    late = list(range(9, 18))
    assert {n: seen.moved(n) for n in names(net()) if not n.startswith("3.")} == dict.fromkeys(names(net())[:-2], late)
    assert all(seen.moved(n) == list(range(18)) for n in ("3.weight", "3.bias"))


@pytest.mark.parametrize(
    ("ours", "theirs"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW), ("momentum", torch.optim.SGD)]
)
@pytest.mark.parametrize("thaw", [0.0, 0.5])
def test_rates_and_bias_corrections_are_those_of_a_group_that_torch_adds_late(make_training, run, ours, theirs, thaw):
    settings = {"momentum": 0.9} if ours == "momentum" else {}
    plan = {"optimizer": ours, "lr": 0.01, "keep": "last", "freeze": ["trunk"], "thaw": thaw, "thaw_lr": 0.3}
    training = run(make_training(model=net(None), **plan))

    model = net(None)
    head, trunk = list(model[2].parameters()), list(model[0].parameters())
    optimizer = theirs([{"params": head}], lr=0.01, **({"weight_decay": 0.0} if ours == "adamw" else {}), **settings)
    fresh = make_training(model=net(None), **plan)
    for step, batch in enumerate(fresh.stream.batches(0)):
        if step == 18:
            break
        if step == round(18 * thaw):
            optimizer.add_param_group({"params": trunk, "lr": 0.003})
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch["inputs"]), batch["targets"]).backward()
        optimizer.step()
    for name, value in model.state_dict().items():
        assert_close(training.model.state_dict()[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("at", [4, 9, 10, 14])
def test_a_training_restored_before_at_or_after_the_thaw_goes_on_to_the_bit(make_training, run, save_at, at):
    plan = {**FREEZE, "thaw": 0.5, "schedule": "cosine", "ema": 0.9, "accumulate": 2}
    save = save_at(at)
    whole = run(make_training(model=net(), observers=[save], **plan))
    resumed = run(make_training(model=net(), **plan), save.checkpoint)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


def test_a_part_that_is_called_trunk_is_that_part_alone(make_training, run):
    torch.manual_seed(0)

    class Named(nn.Sequential):
        def __init__(self):
            super().__init__()
            self.trunk, self.neck, self.last = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 3)

    seen = Seen()
    run(make_training(model=Named(), observers=[seen], **FREEZE))
    assert [n for n in names(Named()) if not seen.moved(n)] == ["trunk.weight", "trunk.bias"]


def test_fit_takes_it_too():
    model, x = net(None), torch.randn(60, 4)
    before = model[0].weight.clone()
    gl.fit(model, (x, torch.arange(60) % 3), epochs=2, freeze="trunk", doctor=False)
    assert torch.equal(model[0].weight, before)


class Odd(nn.Module):
    """Its outputs are not made by its last layer."""

    def __init__(self):
        super().__init__()
        self.outputs, self.gate = nn.Linear(4, 3), nn.Linear(4, 4)

    def forward(self, x):
        return self.outputs(x * self.gate(x).sigmoid())


@pytest.mark.parametrize(
    ("model", "plan", "message"),
    [
        (nn.Linear(4, 3), {"freeze": ["trunk"]}, "train.freeze=trunk freezes nothing"),
        (Odd(), {"freeze": ["trunk"]}, "its last layer, 'gate', does not return its 3 outputs for each"),
        (mlp(Table(4), 3), {"freeze": ["0", "2"], "thaw": 0.5}, "would move nothing before train.thaw"),
        (mlp(Table(4), 3), {"freeze": ["trunks"]}, "train.freeze=trunks: there is no parameter"),
        (mlp(Table(4), 3), {"thaw": 0.5}, "train.thaw=0.5 needs something frozen"),
        (
            mlp(Table(4), 3),
            {"freeze": ["trunk"], "thaw": 0.5, "optimizer": "lbfgs", "batch_size": "full"},
            "train.thaw",
        ),
    ],
)
def test_what_cannot_be_frozen_is_refused(make_training, model, plan, message):
    with pytest.raises(GradlabError, match=message):
        make_training(model=model, **plan)


def test_a_run_of_weights_is_not_for_a_module_of_ones_own():
    with pytest.raises(GradlabError, match=r"^from_run is for recipes"):
        gl.fit(net(), (torch.randn(9, 4), torch.arange(9) % 3), from_run="somewhere")
    with pytest.raises(GradlabError, match="is for recipes"):
        gl.Classifier(plan={"from_run": "somewhere"}).fit(torch.randn(9, 4).numpy(), (torch.arange(9) % 3).numpy())


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({}, ""),
        ({"freeze": ["trunk"]}, "all but the last layer frozen"),
        ({"freeze": ["0", "1"], "thaw": 0.0}, "0, 1 at 0.1 of the rate"),
        ({"from_run": "a", "new_head": False}, "the weights of a"),
        (
            {"from_run": "a", "new_head": True, "freeze": ["trunk"], "thaw": 0.25, "thaw_lr": 0.5},
            "the weights of a, with a new last layer; all but the last layer frozen until step 2,500, then at 0.5 of "
            "the rate",
        ),
    ],
)
def test_what_is_frozen_until_when_is_said_in_words(make_plan, plan, words):
    assert start_in_words(make_plan(**plan), 10_000) == words
