"""The doctor in gradlab's own trainings: it tells what is wrong, stays silent where nothing is, and changes nothing."""

import json
import math
import re
import sys
from pathlib import Path

import pytest
import torch
from cli_helpers import accept_changes
from safetensors.torch import load_file
from torch import nn

import gradlab as gl
from gradlab import api
from gradlab.diagnosis.finding import Finding
from gradlab.diagnosis.logged import Logged
from gradlab.diagnosis.progress import stuck
from gradlab.errors import Interrupted, TrainingError
from gradlab.run import Run
from gradlab.training import experiment
from gradlab.training.checkup import Checkup
from gradlab.training.observers import Observer

sys.path.append(str(Path(__file__).parents[1] / "data"))

from churn import write_churn

X = torch.randn(400, 6, generator=torch.Generator().manual_seed(0))
Y = X[:, :3].argmax(1)


def trained(folder: Path, recipe: str, observers=(), **overrides) -> Run:
    changes = {key.replace("__", "."): value for key, value in overrides.items()}
    return experiment.start(api.prepare(recipe, changes, device="cpu"), folder, observers)


def grave(findings) -> list[str]:
    return [finding.slug for finding in findings if finding.severity != "note"]


def lines(run: Run) -> list[dict]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in run.metrics]


def weights(run: Run) -> dict[str, bytes]:
    newest = sorted(run.checkpoints.glob("step-*"))[-1]
    files = {path.name: load_file(path) for path in newest.glob("*.safetensors")}
    # Beside the weights the doctor keeps what it knows, which a run without it has not.
    tensors = {f"{file} {name}": tensor for file, several in files.items() for name, tensor in several.items()}
    return {name: bytes(t.numpy()) for name, t in tensors.items() if "observers." not in name}


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


# What it says.

HEALTHY = [
    "digits-mlp",
    "digits-softmax",
    "iris-softmax",
    "wine-mlp",
    "breast-cancer-mlp",
    "breast-cancer-logistic",
    "circles-logistic",
    "diabetes-linear",
    "diabetes-mlp",
    "moons-mlp",
    "linear-regression",
    "polynomial-linear",
    "counts-poisson",
]


@pytest.mark.parametrize("recipe", HEALTHY)
def test_the_recipes_are_healthy(recipe, tmp_path):
    assert grave(trained(tmp_path / "run", recipe).findings) == []


@pytest.mark.parametrize("steps", [5, 20, 40])
@pytest.mark.parametrize("recipe", ["digits-mlp", "diabetes-mlp", "wine-mlp"])
def test_a_training_that_has_only_begun_is_not_blamed(recipe, steps, tmp_path):
    assert grave(trained(tmp_path / "run", recipe, train__steps=steps).findings) == []


FAULTS = {
    "a rate far too high": (
        "digits-mlp",
        {"train__lr": 10.0, "train__epochs": 5},
        "lr_too_high",
        "train.lr=0.0005  # now 10",
    ),
    "with sgd": (
        "digits-mlp",
        {"train__optimizer": "sgd", "train__lr": 100.0, "train__epochs": 5},
        "lr_too_high",
        "now 100",
    ),
    "of two classes": ("moons-mlp", {"train__lr": 10.0, "train__epochs": 10}, "lr_too_high", "train.lr="),
    "of numbers": ("diabetes-mlp", {"train__lr": 30.0, "train__epochs": 20}, "lr_too_high", "train.lr="),
    "a rate far too low": ("digits-mlp", {"train__lr": 1e-7, "train__epochs": 5}, "lr_too_low", "# now 1e-07"),
    "that luck hides": ("moons-mlp", {"train__lr": 1e-7, "train__epochs": 10}, "lr_too_low", "train.lr="),
    "clipping to nothing": (
        "digits-mlp",
        {"train__clip": 1e-6, "train__optimizer": "sgd", "train__lr": 0.1, "train__epochs": 5},
        "clipping_always_binds",
        "train.clip=",
    ),
    "decay": (
        "digits-mlp",
        {"train__weight_decay": 10.0},
        "weight_decay_too_strong",
        "train.weight_decay=1e-4  # now 10",
    ),
    "depth": (
        "digits-mlp",
        {"model__activation": "sigmoid", "model__hidden": [32] * 8, "train__epochs": 10},
        "vanishing_gradient",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_first_with_the_knob_to_turn(fault, tmp_path):
    recipe, overrides, slug, fix = FAULTS[fault]
    first, *_ = trained(tmp_path / "run", recipe, **overrides).findings
    assert (first.slug, first.severity) == (slug, "error")
    assert fix in first.fix
    assert "None" not in first.where + first.evidence + first.fix


def test_overfitting_is_told_and_is_no_error_where_the_best_weights_are_kept(tmp_path):
    large = {"model__hidden": [128, 128], "model__dropout": 0.0, "train__weight_decay": 0.0, "train__patience": None}
    (kept,) = trained(tmp_path / "kept", "diabetes-mlp", **large).findings
    assert (kept.slug, kept.severity) == ("overfitting", "warning")
    assert f"those of step {kept.since_step}" in kept.evidence
    (last,) = trained(tmp_path / "last", "curve-fitting").findings  # on purpose, as its recipe says
    assert (last.slug, last.severity) == ("overfitting", "error")
    assert "train.keep=best" in last.fix


def test_a_divergence_says_why_where_the_doctor_knows(tmp_path):
    with pytest.raises(TrainingError, match=r"Lower lr .* The doctor says: the learning rate is far too high"):
        gl.fit(network(), (X, X[:, :3]), loss="mse", optimizer="momentum", lr=1.0, steps=400)


def test_a_text_is_compared_with_the_frequencies_of_its_tokens(tmp_path):
    (tmp_path / "text.txt").write_text("".join(f"{n} and {n + 1} make {2 * n + 1}.\n" for n in range(2000)))
    small = {"data__path": str(tmp_path / "text.txt"), "data__context": 16, "model__dim": 16, "model__layers": 1}
    small |= {"train__steps": 150, "train__batch_size": 4}
    assert grave(trained(tmp_path / "good", "text-lstm", **small).findings) == []
    assert "lr_too_low" in grave(trained(tmp_path / "low", "text-lstm", **small, train__lr=1e-9).findings)
    high = trained(tmp_path / "high", "text-lstm", **small, train__lr=100.0)
    assert grave(high.findings)[0] in ("lr_too_high", "no_learning", "exploding_gradient")


# In Python.


def test_fit_is_silent_where_nothing_is_wrong(capsys):
    fitted = gl.fit(network(), (X, Y), validation=0.2, epochs=20, lr=1e-2)
    assert grave(fitted.findings) == []
    assert capsys.readouterr().err == ""


def test_fit_tells_in_a_line_and_in_its_own_words(capsys):
    fitted = gl.fit(network(), (X, Y), validation=0.2, epochs=20, lr=30.0)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(r"gradlab: The doctor says: the learning rate is far too high\. .* Change: lr=\S+  # now 30", line)
    assert grave(fitted.findings) == ["lr_too_high"]


def test_fit_without_the_doctor(capsys):
    assert gl.fit(network(), (X, Y), epochs=20, lr=30.0, doctor=False).findings == []
    assert capsys.readouterr().err == ""


def test_fit_sees_how_a_module_of_the_users_begins_and_what_it_is_given():
    zeros = network()
    for parameter in zeros.parameters():
        nn.init.zeros_(parameter)
    assert "constant_init" in grave(gl.fit(zeros, (X, Y), epochs=20).findings)
    scales = torch.tensor([1e4, 1.0, 1.0, 1.0, 1.0, 1e-3])
    assert "unnormalized_input" in grave(gl.fit(network(), (X * scales, Y), epochs=20, lr=1e-3).findings)


def test_a_loss_of_ones_own_and_a_model_that_has_learnt_before_are_not_blamed(capsys):
    model = network()
    for _ in range(2):
        fitted = gl.fit(model, (X, Y), loss=lambda z, y: 5 + nn.functional.cross_entropy(z, y), epochs=30, lr=1e-3)
        assert grave(fitted.findings) == []
    assert grave(gl.fit(model, (X, Y), epochs=30, lr=1e-4).findings) == []
    assert capsys.readouterr().err == ""


def test_train_tells_and_its_run_remembers(tmp_path, capsys):
    run = gl.train("moons-mlp", {"train.lr": 10, "train.epochs": 10}, out=tmp_path / "run", device="cpu")
    assert "gradlab: The doctor says: the learning rate is far too high" in capsys.readouterr().err
    assert gl.load_run(tmp_path / "run").findings[0].slug == "lr_too_high"
    report = (run.path / "report.html").read_text()
    assert "What the doctor says" in report
    assert "The learning rate is far too high" in report
    assert "finding error" in report


def test_of_a_healthy_run_the_report_says_nothing(tmp_path, capsys):
    run = gl.train("moons-mlp", out=tmp_path / "run", device="cpu")
    assert "What the doctor says" not in (run.path / "report.html").read_text()
    assert capsys.readouterr().err == ""


def test_findings_are_read_as_they_were_written(tmp_path):
    found = trained(tmp_path / "run", "moons-mlp", train__lr=10, train__epochs=10).findings
    written = [finding.as_json() for finding in found]
    assert json.loads(json.dumps(written)) == json.loads((tmp_path / "run" / "result.json").read_text())["findings"]
    assert [Finding.from_json(shown).as_json() for shown in written] == written


# That it changes nothing.


@pytest.mark.parametrize("recipe", ["digits-dropout", "iris-softmax"])
def test_with_and_without_it_a_training_gives_the_same_bits(recipe, tmp_path):
    on, off = (trained(tmp_path / name, recipe, doctor=name, train__epochs=3) for name in ("on", "off"))
    assert weights(on) == weights(off)
    assert lines(on) == lines(off)
    assert off.findings is None
    results = [{k: v for k, v in run.finished.items() if k not in ("run", "seconds", "findings")} for run in (on, off)]
    assert results[0] == results[1]


@pytest.fixture
def rare(tmp_path):
    """Overrides for a table with few of one class, which end long after the best weights."""
    path = write_churn(tmp_path / "churn.csv", 4000)
    data = {"data__path": str(path), "data__target": "churn", "data__drop": "balance,usage", "data__levels": 300}
    return {**data, "train__epochs": 4, "train__lr": 3e-3}


def test_a_look_at_the_classes_leaves_no_trace(rare, tmp_path):
    on, off = (trained(tmp_path / name, "csv", doctor=name, **rare) for name in ("on", "off"))
    assert "missed_class" in grave(on.findings)
    assert "best, of step" in on.finished["weights"]
    assert (
        f"of step {on.finished['steps']}" not in on.finished["weights"]
    )  # others than those of the end were looked at
    assert weights(on) == weights(off)
    assert on.test == off.test
    (found,) = (f.measured for f in on.findings if f.slug == "missed_class")
    assert found["area"] == pytest.approx(on.validation["auroc"])
    assert found["accuracy"] == pytest.approx(on.validation["accuracy"])


class StopAt(Observer):
    def __init__(self, step):
        self.every = step

    def step(self, training):
        training.request("stop")


WRONG = {"train__lr": 10.0, "train__epochs": 6, "train__checkpoint_every": 50}


@pytest.mark.parametrize(("first", "then"), [("true", "false"), ("false", "true")])
def test_a_run_goes_on_whether_it_is_switched_on_or_off_in_between(first, then, tmp_path):
    whole = trained(tmp_path / "whole", "digits-mlp", **WRONG)
    with pytest.raises(Interrupted):
        trained(tmp_path / "run", "digits-mlp", [StopAt(130)], doctor=first, **WRONG)
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace(f"doctor = {first}", f"doctor = {then}"))
    accept_changes(tmp_path / "run")
    resumed = gl.resume(tmp_path / "run")
    assert weights(resumed) == weights(whole)
    assert lines(resumed) == lines(whole)
    # Nobody looked at the first steps for it, so that it cannot say why; but what the log says, it knows.
    assert resumed.findings is None if then == "false" else grave(resumed.findings) == ["no_learning"]


# What is wrong is seen in the first steps, in the log, or in the sizes of the weights.
RESUMED = {
    "rate": (3, "digits-mlp", {"train__lr": 10.0, "train__steps": 120}),
    "clipping": (50, "digits-mlp", {"train__clip": 1e-6, "train__optimizer": "sgd", "train__lr": 0.1}),
    "decay": (50, "digits-mlp", {"train__weight_decay": 10.0}),
    "healthy": (50, "moons-mlp", {}),
}


class KillAt(Observer):
    """Nothing is saved at the end, as of a process that is gone."""

    def __init__(self, step):
        self.every = step

    def step(self, training):
        raise MemoryError


@pytest.mark.parametrize("name", RESUMED)
def test_a_run_killed_and_gone_on_with_has_the_findings_of_one_that_was_not(name, tmp_path):
    every, recipe, overrides = RESUMED[name]
    overrides = {**overrides, "train__checkpoint_every": every}
    whole = trained(tmp_path / "whole", recipe, **overrides)
    with pytest.raises(MemoryError):
        trained(tmp_path / "run", recipe, [KillAt(2 * every - 1)], **overrides)
    with pytest.raises(MemoryError):
        gl.resume(tmp_path / "run", observers=[KillAt(4 * every + 1)])
    resumed = gl.resume(tmp_path / "run")
    assert grave(resumed.findings) == [] if name == "healthy" else resumed.findings[0].severity == "error"
    assert [f.as_json() for f in resumed.findings] == [f.as_json() for f in whole.findings]
    assert report_of(resumed) == report_of(gl.resume(whole))
    assert doctor_state(resumed) == doctor_state(whole)


def report_of(run: Run) -> str:
    """The doctor's part of the page."""
    return (run.path / "report.html").read_text().partition("What the doctor says")[2].partition("<h2")[0]


def doctor_state(run: Run) -> dict:
    """What the last checkpoint keeps of the doctor."""
    newest = sorted(run.checkpoints.glob("step-*"))[-1]
    tensors = load_file(newest / "optimizer.safetensors")
    kept = {name: tensor.tolist() for name, tensor in tensors.items() if name.startswith("observers.")}
    assert kept
    return {**kept, "structure": json.loads((newest / "state.json").read_text())["optimizer"]["observers"]}


def test_a_run_from_before_there_was_a_doctor_is_gone_on_with(tmp_path):
    with pytest.raises(Interrupted):
        trained(tmp_path / "run", "moons-mlp", [StopAt(100)])
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("doctor = true\n", ""))
    accept_changes(tmp_path / "run")
    assert grave(gl.resume(tmp_path / "run").findings) == []


def test_random_numbers_are_none_of_its_business():
    after = []
    for doctor in (True, False):
        torch.manual_seed(5)
        gl.fit(nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.5), nn.Linear(4, 3)), (X, Y), epochs=2, doctor=doctor)
        after.append(torch.rand(()).item())
    assert after[0] == after[1]


# What it costs.


class Counted(Checkup):
    def __init__(self):
        super().__init__()
        self.steps, self.logs = [], 0

    def step(self, training):
        self.steps.append(training.progress.step)
        super().step(training)

    def log(self, training, line):
        self.logs += 1
        super().log(training, line)


def test_it_looks_at_the_first_steps_and_then_only_reads_the_log():
    counted = Counted()
    fitted = gl.fit(network(), (X, Y), validation=0.2, epochs=40, observers=[counted], doctor=False)
    assert fitted.steps == 400
    assert counted.steps == [1, 2, 3, 4, 5, 6]
    assert counted.logs == len(fitted.history)
    assert counted.before == {}  # the copy of the weights is given back
    assert counted.every is None  # so that the loop has nothing to do between its own lines
    assert len(counted.source.record.looks) == 6 + sum(line["split"] == "train" for line in fitted.history)


def test_what_it_remembers_does_not_grow_with_the_training():
    record = Logged()
    record.begin(network(), {"0.weight": torch.ones(3, 2)})
    line = {"split": "train", "loss": 1.0, "lr": 0.1, "gradient_norm": 1.0, "update_ratio": {"0.weight": 1e-3}}
    for step in range(20_000):
        record.line({**line, "step": step})
    assert len(record.loss.values) < 5000
    assert len(record.record.parameters["0.weight"].update) < 5000


# When it fails itself.


@pytest.mark.parametrize("where", ["begin", "look", "line", "conclude"])
def test_a_fault_of_the_doctor_is_told_and_touches_nothing(where, monkeypatch, capsys):
    expected = gl.fit(network(), (X, Y), validation=0.2, epochs=5, doctor=False)

    def broken(*_, **__):
        raise ZeroDivisionError("of its own")

    monkeypatch.setattr(Logged, where, broken)
    fitted = gl.fit(network(), (X, Y), validation=0.2, epochs=5)
    assert fitted.validation == expected.validation
    assert fitted.findings == []
    (line,) = capsys.readouterr().err.splitlines()
    assert "doctor failed" in line
    assert "ZeroDivisionError: of its own" in line


def test_a_fault_of_a_rule_is_told_and_the_others_judge(monkeypatch, capsys):
    from dataclasses import replace

    from gradlab.diagnosis.rules import rules

    def broken(record):
        raise KeyError("of its own")

    monkeypatch.setitem(rules, "overfitting", replace(rules["overfitting"], judge=broken))
    fitted = gl.fit(network(), (X, Y), validation=0.2, epochs=20, lr=30.0)
    assert grave(fitted.findings) == ["lr_too_high"]
    assert "rule overfitting: KeyError" in capsys.readouterr().err


# What a log alone says.


def record_of(losses, constant=math.nan, evaluated=()):
    record = Logged()
    record.begin(nn.Linear(2, 2), {})
    for step, loss in enumerate(losses, 1):
        line = {"step": step, "split": "train", "loss": loss, "lr": 0.1, "gradient_norm": 1.0, "update_ratio": {}}
        record.line(line)
    for step, loss in enumerate(evaluated):
        record.line({"step": step, "split": "train-sample", "loss": loss})
    record.conclude(len(losses), 1.0, constant, same=True, diverged=False)
    return record


@pytest.mark.parametrize(
    ("losses", "constant", "expected"),
    [
        ([2.3] * 30, 2.3, True),
        ([2.3 * 0.9**n for n in range(30)], 2.3, False),
        ([5.5 - 0.06 * n for n in range(30)], 3.3, False),  # above a constant, but on its way
        ([5.5] * 3 + [3.3] * 27, 3.3, True),  # has learnt the constant alone
        ([2.3, 900.0, *[1.6] * 28], 2.3, True),
        ([2.3, 900.0, *[0.1] * 28], 2.3, False),
        ([0.01] * 30, 2.3, False),  # had learnt before
        ([-1.0] * 30, math.nan, False),
        ([2.3] * 5, 2.3, False),
    ],
)
def test_what_counts_as_stuck(losses, constant, expected):
    assert stuck(record_of(losses, constant).record) is expected


def test_a_loss_without_a_floor_may_stay_where_it_is():
    record = record_of([1.0] * 30, 1.0)
    record.record.has_floor = False
    assert not stuck(record.record)
