"""Cross-validation is a loop of single trainings, and a study that was killed goes on."""

import json
import shutil
import statistics

import numpy as np
import pytest

from gradlab.errors import GradlabError, Interrupted
from gradlab.run import open_run
from gradlab.studies.folds import cross_validate
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.observers import Observer


def test_the_folds_are_single_trainings_with_those_overrides(small, out, cpu, tmp_path):
    found = cross_validate(small, 3, out, cpu)
    for i, fold in enumerate(found.folds):
        alone = Experiment.of(small.override({"data.folds": 3, "data.fold": i}), cpu)
        run = experiment.start(alone, tmp_path / f"alone-{i}")
        assert fold.test == run.test
        assert fold.validation == run.validation
        assert fold.baseline == run.finished["baseline"]
    accuracies = [fold.test["accuracy"] for fold in found.folds]
    assert found.test["accuracy"].mean == statistics.fmean(accuracies)
    assert found.test["accuracy"].std == statistics.stdev(accuracies)
    assert found.test["accuracy"].standard_error == pytest.approx(statistics.stdev(accuracies) / 3**0.5)
    assert found.baseline["accuracy"] == pytest.approx(0.5)


def test_each_example_is_tested_once_and_preprocessing_is_fitted_in_each_fold(small, out, cpu):
    found = cross_validate(small, 3, out, cpu)
    runs = [open_run(out / fold.name) for fold in found.folds]
    tested = np.concatenate([run.dataset.test.rows for run in runs])
    assert sorted(tested) == list(range(120))
    shifts = [run.data["inputs"]["shift"] for run in runs]
    assert len({tuple(shift) for shift in shifts}) == 3
    for run, shift in zip(runs, shifts, strict=True):
        inputs = run.dataset.raw.inputs
        assert shift == pytest.approx(inputs[run.dataset.train.rows].mean(0))  # the fold's own training split alone


def test_the_folder_holds_ordinary_runs_a_report_and_what_came_out(small, out, cpu):
    found = cross_validate(small, 2, out, cpu)
    assert {p.name for p in out.iterdir() if p.name[0] != "."} == {"fold-1", "fold-2", "report.html", "study.json"}
    assert (out / "fold-1" / "report.html").exists()
    written = json.loads((out / "study.json").read_text())
    assert written["result"] == json.loads(json.dumps(found.to_json()))
    assert written["asked"]["folds"] == 2
    page = (out / "report.html").read_text()
    assert "Cross-validation, 2 folds" in page
    assert 'href="fold-2/report.html"' in page


class StopIn(Observer):
    """Stops the training it sees as the n-th, as Ctrl-C would."""

    def __init__(self, number):
        self.number, self.seen, self.every = number, 0, 6

    def start(self, training):
        self.seen += 1

    def step(self, training):
        if self.seen == self.number:
            training.request("stop")


def test_a_stopped_study_goes_on_where_it_was(small, out, cpu, tmp_path):
    with pytest.raises(Interrupted):
        cross_validate(small, 3, out, cpu, observers=[StopIn(2)])
    assert (out / "fold-1" / "result.json").exists()
    assert not (out / "fold-2" / "result.json").exists()
    kept = (out / "fold-1" / "metrics.jsonl").stat().st_mtime_ns

    begun = []

    class Count(Observer):
        def start(self, training):
            begun.append(training.progress.step)

    again = cross_validate(small, 3, out, cpu, observers=[Count()])
    assert begun == [6, 0]  # the second goes on at its checkpoint, the third begins
    assert (out / "fold-1" / "metrics.jsonl").stat().st_mtime_ns == kept
    whole = cross_validate(small, 3, tmp_path / "whole", cpu)
    assert [f.test for f in again.folds] == [f.test for f in whole.folds]


class Never(Observer):
    def start(self, training):
        raise AssertionError("trained again")


def test_a_finished_study_is_read_and_nothing_is_trained(small, out, cpu):
    first = cross_validate(small, 2, out, cpu)
    assert cross_validate(small, 2, out, cpu, observers=[Never()]) == first
    shutil.rmtree(out / "fold-1")  # to save room: its figures are in study.json
    assert cross_validate(small, 2, out, cpu, observers=[Never()]) == first


def test_another_recipe_in_the_same_folder_is_refused(small, out, cpu):
    cross_validate(small, 2, out, cpu)
    before = (out / "study.json").read_bytes()
    for changes, folds, word in (
        ({"train.lr": 0.5}, 2, "train.lr=0.005"),
        ({"model.hidden": [9]}, 2, "model.hidden=8"),
        ({"data": "circles"}, 2, "data.name=moons"),
        ({}, 3, "folds=2"),
    ):
        with pytest.raises(GradlabError, match=word):
            cross_validate(small.override(changes), folds, out, cpu)
    assert (out / "study.json").read_bytes() == before


def test_more_folds_than_the_rarest_class_has_examples_are_refused_before_anything_is_made(small, out, cpu):
    with pytest.raises(GradlabError, match="fewer than the 61 folds"):
        cross_validate(small, 61, out, cpu)
    with pytest.raises(GradlabError, match=r"data\.folds=1 is not valid"):
        cross_validate(small, 1, out, cpu)
    assert not out.exists()


def test_a_folder_that_is_no_study_is_refused_and_left_alone(small, out, cpu):
    out.mkdir()
    (out / "precious").write_text("mine")
    with pytest.raises(GradlabError, match="is no study"):
        cross_validate(small, 2, out, cpu)
    assert [p.name for p in out.iterdir()] == ["precious"]


def test_a_damaged_study_file_is_told(small, out, cpu):
    cross_validate(small, 2, out, cpu)
    asked = json.dumps(json.loads((out / "study.json").read_text())["asked"])
    for text in ("", "[]", '{"asked": 3}', f'{{"asked": {asked}, "members": [{{"name": "fold-1"}}]}}'):
        (out / "study.json").write_text(text)
        with pytest.raises(GradlabError, match=r"study\.json is damaged"):
            cross_validate(small, 2, out, cpu)


def test_figures_of_a_kept_fold_that_are_no_numbers_are_refused(small, out, cpu):
    cross_validate(small, 2, out, cpu)
    content = json.loads((out / "study.json").read_text())
    content["members"][0]["baseline"]["test"]["loss"] = []
    (out / "study.json").write_text(json.dumps(content))
    with pytest.raises(GradlabError, match=r"study\.json is damaged: baseline\.test\.loss"):
        cross_validate(small, 2, out, cpu)


def test_a_regression_is_folded_without_classes(out, cpu):
    from gradlab.recipes import find

    recipe = find("linear-regression").override({"data.examples": 60, "train.steps": 4})
    found = cross_validate(recipe, 4, out, cpu)
    assert next(iter(found.test)) == "loss"
    assert {"rmse", "mae", "r2"} <= set(found.test)
    assert [fold.test["loss"] for fold in found.folds] != [found.folds[0].test["loss"]] * 4
