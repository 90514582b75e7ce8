"""`fit` on every form of data, with any objective, and in a run folder."""

import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from cli_helpers import accept_changes, gradlab
from torch import nn
from torch.testing import assert_close
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import gradlab as gl
from gradlab.data import Epochs
from gradlab.data.views import Transformed
from gradlab.errors import GradlabError, TrainingError
from gradlab.training.observers import Observer

QUIET = {"doctor": False, "lr": 0.01}


def points(count=120):
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(count) % 3
    return torch.randn(count, 4, generator=generator) + 2 * nn.functional.one_hot(y, 4), y


def net(dropout=0.0):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3))


def cross_entropy(model, batch):
    logits = model(batch["inputs"])
    return nn.functional.cross_entropy(logits, batch["targets"], reduction="sum"), len(logits)


def losses(fitted):
    return [line["loss"] for line in fitted.history if line["split"] == "train"]


def in_batches(size=20):
    x, y = points()
    return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


# Forms of data.


def test_a_dictionary_of_arrays_is_the_pair_by_names():
    x, y = points()
    pair = gl.fit(net(), (x, y), epochs=2, **QUIET)
    named = gl.fit(net(), {"inputs": x.numpy(), "targets": y.tolist()}, epochs=2, **QUIET)
    assert losses(named) == losses(pair)


def test_weights_may_be_the_third_part_of_a_tuple():
    x, y = points()
    equal = gl.fit(net(), (x, y, torch.ones(len(x))), epochs=2, **QUIET)
    assert losses(equal) == pytest.approx(losses(gl.fit(net(), (x, y), epochs=2, **QUIET)), rel=1e-5)
    heavy = gl.fit(net(), (x, y, (y == 0) * 3.0), epochs=2, **QUIET)
    assert losses(heavy) != pytest.approx(losses(equal), rel=1e-2)


def test_a_dataset_is_read_in_the_order_of_arrays():
    x, y = points()
    arrays, items = (gl.fit(net(), data, epochs=2, batch_size=16, **QUIET) for data in ((x, y), TensorDataset(x, y)))
    assert losses(items) == losses(arrays)
    held = gl.fit(net(), TensorDataset(x, y), validation=0.25, epochs=10, **QUIET)
    assert held.validation["accuracy"] > 0.5


class Noisy(Dataset):
    """Draws from three generators for each item."""

    def __len__(self):
        return 40

    def __getitem__(self, row):
        noise = [torch.randn(()).item(), np.random.rand(), random.random(), float(row)]
        return torch.tensor(noise, dtype=torch.float32), row % 3


def test_what_an_item_draws_is_a_function_of_seed_epoch_and_item():
    seen = {}

    class Keeps(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.map, self.name = nn.Linear(4, 3), name

        def forward(self, x):
            if self.training:
                seen.setdefault(self.name, []).extend(map(tuple, x.tolist()))
            return self.map(x)

    for name, size in (("a", 8), ("b", 5)):
        gl.fit(Keeps(name), Noisy(), epochs=2, batch_size=size, **QUIET)
    assert sorted(seen["a"][:40]) == sorted(seen["b"][:40])  # whatever the batches
    assert sorted(seen["a"][:40]) != sorted(seen["a"][40:])  # but anew in each epoch


def test_reading_items_leaves_the_generators_alone():
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    before = torch.rand(()).item(), np.random.rand(), random.random()
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    gl.fit(nn.Linear(4, 3), Noisy(), epochs=1, **QUIET)
    after = torch.rand(()).item(), np.random.rand(), random.random()
    assert (after[1:]) == (before[1:])


def test_a_loader_is_passed_over_once_an_epoch_and_evaluated_whole():
    x, y = points()
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    fitted = gl.fit(net(), loader, validation=DataLoader(TensorDataset(x, y), batch_size=50), epochs=3, **QUIET)
    assert fitted.steps == 12
    assert fitted.validation["accuracy"] == pytest.approx(
        (fitted.model.eval()(x).argmax(1) == y).double().mean().item()
    )
    again = gl.fit(net(), loader, epochs=3, **QUIET)
    assert losses(again) == losses(gl.fit(net(), loader, epochs=3, **QUIET))


def test_batches_may_be_dictionaries_pairs_or_tensors_and_come_without_end():
    x, y = points()

    def endless():
        while True:
            yield {"inputs": x[:10], "targets": y[:10]}

    assert gl.fit(net(), endless(), steps=7, **QUIET).steps == 7
    assert gl.fit(net(), in_batches(), epochs=2, **QUIET).steps == 12

    class Rows(IterableDataset):
        def __iter__(self):
            return iter(zip(x, y, strict=True))

    assert gl.fit(net(), DataLoader(Rows(), batch_size=30), steps=9, **QUIET).steps == 9  # passes one after the other
    rebuilt = gl.fit(
        nn.Linear(4, 4), [x[:30], x[30:60]], objective=lambda m, b: ((m(b["inputs"]) ** 2).sum(), 30), epochs=1
    )
    assert rebuilt.steps == 2


def test_a_view_is_a_function_of_seed_epoch_and_example():
    def shifted(batch, keys):
        return {**batch, "inputs": batch["inputs"] + (keys % 1000)[:, None]}

    view = Transformed.over(gl.Examples.of(*points(30)), shifted)

    def seen(sizes, part=(0, 1)):
        stream = Epochs(view, sizes[0], sizes, 7, part)
        return [sorted(map(tuple, torch.cat([b["inputs"] for b in stream.epoch(e)]).tolist())) for e in (0, 1)]

    whole = seen([30])
    assert seen([7, 7, 7, 9]) == whole  # whatever the batches
    halves = [seen([10, 10, 10], (rank, 2)) for rank in (0, 1)]
    assert [sorted(a + b) for a, b in zip(*halves, strict=True)] == whole  # and the processes
    assert whole[0] != whole[1]
    fitted = [gl.fit(net(), view, epochs=2, batch_size=10, **QUIET) for _ in range(2)]
    assert losses(fitted[0]) == losses(fitted[1])


# Objectives, metrics, groups.


def test_an_objective_of_ones_own_is_minimised_as_the_loss_is():
    x, y = points()
    own = gl.fit(net(), (x, y), objective=cross_entropy, epochs=3, **QUIET)
    assert losses(own) == losses(gl.fit(net(), (x, y), epochs=3, **QUIET))


def test_metrics_are_means_over_the_split_and_may_choose_the_weights():
    def hits(model, batch):
        return (model(batch["inputs"]).argmax(1) == batch["targets"]).float()

    def wrong(model, batch):
        found = hits(model, batch)
        return (1 - found).sum(), len(found)

    x, y = points()
    options = {"objective": cross_entropy, "metrics": {"hits": hits, "wrong": wrong}, "validation": (x, y), "epochs": 4}
    fitted = gl.fit(net(), (x, y), criterion="hits", **options, **QUIET)
    lines = [line for line in fitted.history if line["split"] == "validation"]
    assert fitted.validation["hits"] == max(line["hits"] for line in lines)
    assert all(line["hits"] + line["wrong"] == pytest.approx(1) for line in lines)
    fallen = gl.fit(net(), (x, y), criterion="-wrong", **options, **QUIET)
    assert fallen.validation == fitted.validation
    beside = gl.fit(net(), (x, y), metrics={"hits": hits}, validation=(x, y), epochs=2, **QUIET)
    assert beside.validation["hits"] == pytest.approx(beside.validation["accuracy"])


def test_groups_have_the_rate_and_decay_that_torch_gives_them():
    x, y = points()
    groups = {"0": {"lr": 0.001, "weight_decay": 0.5}, "3": {"lr": 0.05}}
    ours = gl.fit(net(), (x, y), groups=groups, epochs=2, batch_size="full", optimizer="adamw", **QUIET).model
    theirs = net()
    optimizer = torch.optim.AdamW(
        [
            {"params": [theirs[0].weight], "lr": 0.001, "weight_decay": 0.5},
            {"params": [theirs[0].bias], "lr": 0.001, "weight_decay": 0.0},
            {"params": theirs[3].parameters(), "lr": 0.05, "weight_decay": 0.0},
        ]
    )
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(theirs(x), y).backward()
        optimizer.step()
    assert_close(list(ours.parameters()), list(theirs.parameters()), rtol=1e-5, atol=1e-6)


def test_frozen_parts_stay_as_they_are_to_the_bit():
    x, y = points()
    model = net()
    before = [p.detach().clone() for p in model[0].parameters()]
    gl.fit(model, (x, y), freeze=["0"], epochs=2, weight_decay=0.1, ema=0.9, **QUIET)
    assert all(torch.equal(p, q) for p, q in zip(model[0].parameters(), before, strict=True))
    assert not torch.equal(model[3].weight, net()[3].weight)


# In a run folder.


class Stops(Observer):
    """As a crash would: nothing more is saved."""

    every = 1

    def __init__(self, step):
        self.at = step

    def step(self, training):
        if training.progress.step == self.at:
            raise RuntimeError("crash")


def lines(folder):
    text = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in text]


def several():
    return {
        "all": gl.Objective(loss=cross_entropy, moves="3"),
        "first": gl.Objective(loss=cross_entropy, moves="0", train={"lr": 0.02, "optimizer": "momentum"}),
    }


KINDS = {
    "arrays": lambda: {"data": points(), "validation": 0.25},
    "dataset": lambda: {"data": Noisy(), "batch_size": 8},
    "loader": lambda: {"data": DataLoader(TensorDataset(*points()), batch_size=16, shuffle=True)},
    "generator": lambda: {"data": iter(in_batches() * 8), "steps": 30},
    "several objectives": lambda: {"data": points(), "objective": several(), "validation": 0.25},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_call_goes_on_after_a_crash_to_the_bit(tmp_path, kind):
    options = {"epochs": 6, "checkpoint_every": 5, "log_every": 3, **QUIET}

    def fitted(folder, *observers):
        given = KINDS[kind]()
        return gl.fit(net(0.2), given.pop("data"), out=tmp_path / folder, observers=observers, **options, **given)

    whole = fitted("whole")
    with pytest.raises(RuntimeError, match="crash"):
        fitted("stopped", Stops(13))
    resumed = fitted("stopped")
    assert lines(tmp_path / "stopped") == lines(tmp_path / "whole")
    assert all(torch.equal(a, b) for a, b in zip(resumed.model.parameters(), whole.model.parameters(), strict=True))
    assert resumed.validation == whole.validation
    assert (tmp_path / "stopped" / "report.html").is_file()
    again = fitted("stopped")  # finished: the weights it ended with
    assert all(torch.equal(a, b) for a, b in zip(again.model.parameters(), whole.model.parameters(), strict=True))
    assert again.run.chosen_weights().keys() == whole.model.state_dict().keys()


def test_another_call_does_not_mix_with_a_folder(tmp_path):
    x, y = points()
    gl.fit(net(), (x, y), out=tmp_path / "run", epochs=1, **QUIET)
    with pytest.raises(GradlabError, match=r"begun with epochs=1, and this call has 2"):
        gl.fit(net(), (x, y), out=tmp_path / "run", epochs=2, **QUIET)
    with pytest.raises(GradlabError, match=r"data .* are not the ones"):
        gl.fit(net(), (x + 1, y), out=tmp_path / "run", epochs=1, **QUIET)
    with pytest.raises(GradlabError, match=r"made by gradlab\.fit"):
        gl.load_run(tmp_path / "run").evaluate("validation")


def test_a_folder_of_an_older_version_lacks_newer_knobs(tmp_path):
    """They are as they are by default, so that the same call goes on."""
    first = gl.fit(net(), points(), out=tmp_path / "run", epochs=1, **QUIET)
    path = tmp_path / "run" / "recipe.toml"
    path.write_text("".join(s for s in path.read_text().splitlines(True) if not s.startswith("checkpoint_minutes")))
    accept_changes(tmp_path / "run")
    assert gl.fit(net(), points(), out=tmp_path / "run", epochs=1, **QUIET).steps == first.steps
    with pytest.raises(GradlabError, match=r"begun with checkpoint_minutes=5.0, and this call has 2.0"):
        gl.fit(net(), points(), out=tmp_path / "run", epochs=1, checkpoint_minutes=2.0, **QUIET)


def test_an_interrupted_call_goes_on_when_it_is_made_again(tmp_path):
    """Ctrl-C in a process of its own, as at a terminal."""
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    began = subprocess.Popen([sys.executable, script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    log = tmp_path / "run" / "metrics.jsonl"
    while began.poll() is None and not (log.is_file() and log.read_text().count("\n") > 3):
        time.sleep(0.02)
    began.send_signal(signal.SIGINT)
    told = began.communicate()[1].decode()
    assert "Stopped and saved at step" in told
    assert "the same call of gradlab.fit" in told
    (listed,) = gradlab("runs", ".", "--json", cwd=tmp_path).json["runs"]
    assert listed["state"] == "not finished: the same call of gradlab.fit"
    again = subprocess.run([sys.executable, script, "on"], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    whole = subprocess.run([sys.executable, script, "on", "whole"], cwd=tmp_path, capture_output=True, text=True)
    assert again.stdout == whole.stdout
    assert lines(tmp_path / "run") == lines(tmp_path / "whole")


SCRIPT = """
import sys, time, torch, gradlab as gl

class Slow(gl.Observer):
    every = 1
    def step(self, training):
        time.sleep(0 if sys.argv[1:] else 0.02)

torch.manual_seed(0)
x, y = torch.randn(80, 4), torch.arange(80) % 3
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 3))
plan = dict(steps=200, log_every=5, validation=0.2, out=(*sys.argv[2:], "run")[0], doctor=False)
fit = gl.fit(net, (x, y), observers=[Slow()], **plan)
print([p.tolist() for p in fit.model.parameters()])
"""


# What is refused.


@pytest.mark.parametrize("asked", [{"checkpoint_every": 50}, {"checkpoint_minutes": 1.0}, {"checkpoints": 2}])
def test_checkpoints_without_a_folder_are_refused(asked):
    ((key, value),) = asked.items()
    with pytest.raises(GradlabError, match=rf"^{key}={value}: without a folder fit keeps no checkpoint.*out='run'"):
        gl.fit(net(), points(), epochs=1, **asked)


@pytest.mark.parametrize(
    ("data", "options", "says"),
    [
        (lambda: iter(in_batches()), {}, r"do not say how many batches.*steps=1000"),
        (list, {}, "no batches"),
        (lambda: iter([]), {"steps": 2}, "no batches"),
        (lambda: 5, {}, "got int"),
        (lambda: points()[0], {}, "got Tensor"),
        (lambda: {"a": torch.zeros(3, 2), "b": torch.zeros(2)}, {"objective": cross_entropy}, "a has 3, b has 2"),
        (lambda: [(torch.zeros(3, 4), torch.zeros(2).long())], {}, "same number of examples"),
        (lambda: [("text",)], {}, "same number of examples, got inputs 'text'"),
        (lambda: {"x": torch.zeros(3, 4)}, {}, "the data have x. Give objective="),
        (in_batches, {"validation": 0.2}, "share can be held out of arrays"),
        (points, {"validation": iter(in_batches())}, "must have a length"),
        (points, {"objective": cross_entropy, "loss": "mse"}, "give one of them"),
        (points, {"objective": {}}, "no objective"),
        (points, {"objective": "mse"}, "must be a function"),
        (
            points,
            {"objective": lambda m, b: m(b["inputs"]).sum()},
            r"must return \(sum, count\).*a tensor of shape \(\)",
        ),
        (points, {"objective": lambda m, b: (m(b["inputs"]), 3)}, r"returned \(a tensor of shape \(\d, 3\), 3\)"),
        (points, {"objective": lambda m, b: (m(b["inputs"]).detach().sum(), 3)}, "has no gradient"),
        (points, {"objective": gl.Objective(loss=cross_entropy, moves="zz")}, "moves no parameter.*'zz'"),
        (points, {"objective": gl.Objective(loss=cross_entropy, train={"epochs": 2})}, "cannot have a epochs"),
        (points, {"objective": cross_entropy, "metrics": {"loss": cross_entropy}}, "cannot be named 'loss'"),
        (points, {"objective": cross_entropy, "criterion": "zz"}, "criterion='zz' names no figure.*There are: loss"),
        (points, {"freeze": ["zz"]}, "no parameter whose name begins so"),
        (points, {"freeze": [""]}, "no parameter to train"),
        (points, {"groups": {"0": {"momentum": 1.0}}}, "cannot have a momentum"),
        (points, {"groups": {"zz": {"lr": 1.0}}}, "no parameter to train in the group 'zz'"),
    ],
)
def test_what_cannot_be_trained_is_told_before_the_first_step(data, options, says):
    with pytest.raises(GradlabError, match=says) as caught:
        gl.fit(net(), data(), **{"epochs": 1, **QUIET, **options})
    assert not isinstance(caught.value, TrainingError)


@pytest.mark.parametrize(
    ("data", "options", "says"),
    [
        (lambda: iter(in_batches()), {"steps": 50}, "ended after 6 batches, but 50 steps"),
        (
            points,
            {"objective": cross_entropy, "metrics": {"m": lambda m, b: torch.tensor([torch.nan])}, "validation": 0.2},
            "metric 'm' gave NaN",
        ),
    ],
)
def test_what_fails_later_is_told_as_a_failure_of_the_training(data, options, says):
    with pytest.raises(TrainingError, match=says):
        gl.fit(net(), data(), **{"epochs": 1, **QUIET, **options})
