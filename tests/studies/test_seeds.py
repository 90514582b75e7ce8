"""Several seeds are a loop of single trainings on one split, and their mean and spread are what NumPy says."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError, Interrupted, TrainingError
from gradlab.recipes import find
from gradlab.run import Run, open_run
from gradlab.studies.folds import cross_validate
from gradlab.studies.seeds import train_seeds
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.observers import Observer


def drawn(page):
    """The figures of a page by their titles: the traces of each."""
    found = re.findall(r'<h3>([^<]*)</h3>.*?<script type="application/json">(.*?)</script>', page, flags=re.S)
    return {title: json.loads(text)["data"] for title, text in found}


def logged(path, split, name):
    """A figure of a metrics log, by step."""
    return {line["step"]: line[name] for line in Run(path).metrics if line["split"] == split and line["step"]}


class Poison(Observer):
    """Makes the trainings with some seeds diverge in their first step."""

    def __init__(self, *seeds):
        self.seeds = seeds

    def start(self, training):
        if training.plan.seed in self.seeds:
            with torch.no_grad():
                next(training.model.parameters()).fill_(torch.nan)


class Never(Observer):
    def start(self, training):
        raise AssertionError("trained again")


def test_the_members_are_single_trainings_with_those_seeds(small, out, cpu, tmp_path):
    found = train_seeds(small, 3, out, cpu)
    assert found.numbers == [0, 1, 2]
    assert [m.name for m in found.members] == ["seed-0", "seed-1", "seed-2"]
    for seed, member in enumerate(found.members):
        alone = experiment.start(Experiment.of(small.override({"train.seed": seed}), cpu), tmp_path / f"alone-{seed}")
        assert member.test == alone.test
        assert member.validation == alone.validation
        assert open_run(out / member.name).recipe == alone.recipe
    assert len({member.test["loss"] for member in found.members}) == 3


def test_only_the_seed_of_the_training_varies_and_not_the_split(small, out, cpu):
    found = train_seeds(small, 3, out, cpu)
    datasets = [open_run(out / member.name).dataset for member in found.members]
    for split in ("train", "validation", "test"):
        rows = [dataset.split(split).rows.tolist() for dataset in datasets]
        assert rows == [rows[0]] * 3
    assert "Only train.seed differs" in (out / "report.html").read_text()


def test_they_count_from_the_seed_of_the_recipe(small, out, cpu):
    found = train_seeds(small.override({"train.seed": 7}), 2, out, cpu)
    assert [m.changes for m in found.members] == [{"train.seed": 7}, {"train.seed": 8}]
    assert (out / "seed-8" / "report.html").exists()
    assert not (out / "seed-0").exists()


def test_mean_and_spread_are_those_of_numpy_beside_the_baseline(small, out, cpu):
    found = train_seeds(small, 4, out, cpu)
    assert found.split == "test"
    assert set(found.spread) == set(found.members[0].test)
    for name, spread in found.spread.items():
        values = np.array([member.test[name] for member in found.members])
        assert spread.mean == pytest.approx(values.mean())
        assert spread.std == pytest.approx(values.std(ddof=1))
        assert spread.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(4))
    assert found.spread["loss"].std > 0
    assert found.baseline["accuracy"] == pytest.approx(0.5)
    assert found.basis == "4 seeds"


def test_without_a_test_split_the_validation_split_is_judged(small, out, cpu):
    found = train_seeds(small.override({"data.test": 0.0}), 2, out, cpu)
    assert found.split == "validation"
    losses = [member.validation["loss"] for member in found.members]
    assert found.spread["loss"].mean == pytest.approx(np.mean(losses))
    assert found.baseline["accuracy"] == found.members[0].baseline["validation"]["accuracy"]
    assert "validation accuracy, mean" in (out / "report.html").read_text()


def test_a_regression_without_a_validation_split_has_the_curve_of_its_training_loss(out, cpu):
    recipe = find("linear-regression").override({"data.examples": 60, "data.validation": 0.0, "train.steps": 20})
    found = train_seeds(recipe, 2, out, cpu)
    assert found.names[0] == "rmse"
    assert list(found.curves) == [("train", "loss")]


class StopIn(Observer):
    """Stops the training with this seed in its middle, as Ctrl-C would."""

    every = 6

    def __init__(self, seed):
        self.seed = seed

    def step(self, training):
        if training.plan.seed == self.seed:
            training.request("stop")


def bits(path):
    """What must be equal to the bit: every logged loss, the final figures, the bytes of all weights."""
    run = open_run(path)
    last = max(path.glob("checkpoints/step-*"))
    losses = [(line["step"], line["split"], line["loss"]) for line in run.metrics]
    return losses, run.test, run.validation, {file.name: file.read_bytes() for file in last.glob("*.safetensors")}


def test_an_interrupted_study_ends_with_the_bits_of_one_that_was_not(small, out, cpu, tmp_path):
    recipe = small.override({"model.dropout": 0.3})  # so that the state of the generator matters too
    with pytest.raises(Interrupted):
        train_seeds(recipe, 3, out, cpu, observers=[StopIn(1)])
    assert (out / "seed-0" / "result.json").exists()
    assert not (out / "seed-1" / "result.json").exists()
    assert not (out / "report.html").exists()

    begun = {}

    class Begun(Observer):
        def start(self, training):
            begun[training.plan.seed] = training.progress.step

    again = train_seeds(recipe, 3, out, cpu, observers=[Begun()])
    assert begun == {1: 6, 2: 0}  # the first is kept, the second goes on at its checkpoint, the third begins
    whole = train_seeds(recipe, 3, tmp_path / "whole", cpu)
    for member in whole.members:
        assert bits(out / member.name) == bits(whole.path / member.name)
    assert again.spread == whole.spread
    assert again.curves == whole.curves


def test_a_finished_study_is_read_and_nothing_is_trained(small, out, cpu):
    first = train_seeds(small, 3, out, cpu)
    assert train_seeds(small, 3, out, cpu, observers=[Never()]) == first
    shutil.rmtree(out / "seed-1")  # to save room: its figures are in study.json, its curves are lost
    again = train_seeds(small, 3, out, cpu, observers=[Never()])
    assert again.spread == first.spread
    assert [curve.name for curve in again.curves["train", "loss"]] == ["seed 0", "seed 2"]
    assert "The folders of 1 are gone" in (out / "report.html").read_text()


def test_another_study_in_the_same_folder_is_refused(small, out, cpu):
    train_seeds(small, 2, out, cpu)
    before = (out / "study.json").read_bytes()
    for changes, count, word in (
        ({}, 3, "seeds=2"),
        ({"train.lr": 0.5}, 2, "train.lr="),
        ({"train.seed": 1}, 2, "seed=0"),
    ):
        with pytest.raises(GradlabError, match=word):
            train_seeds(small.override(changes), count, out, cpu)
    with pytest.raises(GradlabError, match="study=seeds"):
        cross_validate(small, 2, out, cpu)
    assert (out / "study.json").read_bytes() == before


def test_a_seed_that_diverges_is_told_and_the_figures_are_of_the_others(small, out, cpu, tmp_path):
    found = train_seeds(small, 5, out, cpu, observers=[Poison(3)])
    assert found.diverged == [3]
    assert found.basis == "4 of 5 seeds; seed 3 diverged"
    assert [m.ended for m in found.members] == ["finished"] * 3 + ["diverged", "finished"]
    healthy = train_seeds(small, 5, tmp_path / "healthy", cpu)
    others = [member.test["loss"] for member in healthy.members if member.name != "seed-3"]
    assert found.spread["loss"].mean == pytest.approx(np.mean(others))
    assert found.spread["loss"].std == pytest.approx(np.std(others, ddof=1))
    assert [curve.name for curve in found.curves["train", "loss"]] == ["seed 0", "seed 1", "seed 2", "seed 4"]
    page = (out / "report.html").read_text()
    assert "4 of 5 seeds; seed 3 diverged" in page
    assert "seed 3 (diverged)" in page
    assert "seed-3/report.html" not in page  # there is none
    assert (out / "seed-4" / "report.html").exists()
    assert drawn(page)["Accuracy"][0]["x"] == [0, 1, 2, 4]
    written = json.loads((out / "study.json").read_text())["result"]
    assert written == json.loads(json.dumps(found.to_json()))
    assert written["diverged"] == [3]
    assert train_seeds(small, 5, out, cpu, observers=[Never()]) == found


def test_where_one_seed_is_left_there_is_no_spread(small, out, cpu):
    found = train_seeds(small, 3, out, cpu, observers=[Poison(0, 2)])
    assert found.basis == "1 of 3 seeds; seeds 0, 2 diverged"
    spread = found.spread["accuracy"]
    assert (spread.mean, spread.std, spread.standard_error) == (found.members[1].test["accuracy"], None, None)
    traces = drawn((out / "report.html").read_text())["Training loss"]
    assert [trace["name"] for trace in traces] == ["single seeds"]


def test_where_all_diverge_the_study_ends_with_what_to_do(small, out, cpu):
    with pytest.raises(TrainingError, match=r"All 2 seeds diverged.*Lower train\.lr \(now 0\.005\)"):
        train_seeds(small, 2, out, cpu, observers=[Poison(0, 1)])


def test_the_page_draws_bands_of_the_losses_and_of_the_most_telling_metric(small, out, cpu):
    found = train_seeds(small, 3, out, cpu)
    figures = drawn((out / "report.html").read_text())
    for title, split, name in (
        ("Training loss", "train", "loss"),
        ("Validation loss", "validation", "loss"),
        ("Validation accuracy", "validation", "accuracy"),
    ):
        logs = [logged(out / member.name, split, name) for member in found.members]
        values = np.array([list(log.values()) for log in logs])
        band, single, mean = figures[title]
        assert mean["x"] == list(logs[0])
        assert mean["y"] == pytest.approx(values.mean(0))
        upper, lower = band["y"][: len(mean["x"])], band["y"][len(mean["x"]) :][::-1]
        assert band["fill"] == "toself"
        assert upper == pytest.approx(values.mean(0) + values.std(0, ddof=1))
        assert lower == pytest.approx(values.mean(0) - values.std(0, ddof=1))
        assert [y for y in single["y"] if y is not None] == values.ravel().tolist()


def test_with_early_stopping_the_band_is_of_the_seeds_that_reached_a_step(small, out, cpu):
    changes = {"train.steps": 200, "train.patience": 1, "train.lr": 0.1}
    found = train_seeds(small.override(changes), 6, out, cpu)
    steps = [member.steps for member in found.members]
    assert len(set(steps)) > 1
    page = (out / "report.html").read_text()
    assert f"They stopped after {min(steps)} to {max(steps)} steps" in page
    assert "of the seeds that reached it" in page
    logs = [logged(out / member.name, "validation", "loss") for member in found.members]
    mean = drawn(page)["Validation loss"][-1]
    assert mean["x"][-1] == sorted(steps)[-2]  # the last that two of them reached
    for step, value, said in zip(mean["x"], mean["y"], mean["text"], strict=True):
        reached = [log[step] for log in logs if step in log]
        assert value == pytest.approx(np.mean(reached))
        assert said.endswith(f", {len(reached)} seeds")


@pytest.mark.parametrize(
    ("count", "changes", "message"),
    [
        (1, {}, "one seed has no spread"),
        (0, {}, "one seed has no spread"),
        (-3, {}, "one seed has no spread"),
        (201, {}, "200 are the most"),
        (2, {"train.seed": 2**32 - 1}, r"train\.seed=4294967296 is not valid"),
        (2, {"train.lr": -1}, r"train\.lr=-1"),
        (2, {"data.test": 0.0, "data.validation": 0.0}, "nothing to judge the seeds by"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(small, out, cpu, count, changes, message):
    with pytest.raises(GradlabError, match=message):
        train_seeds(small.override(changes), count, out, cpu)
    assert not out.exists()
