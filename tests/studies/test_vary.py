"""Underfitting and overfitting in one picture, and the numbers behind it against least squares in double precision."""

import json

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.recipes import find
from gradlab.run import open_run
from gradlab.studies.vary import vary
from gradlab.training import experiment
from gradlab.training.experiment import Experiment


@pytest.fixture(scope="module")
def degrees(tmp_path_factory):
    """The polynomials of the curve-fitting recipe."""
    out = tmp_path_factory.mktemp("vary") / "study"
    return vary(find("curve-fitting"), {"model.degree": "1,2,3,5,9"}, out, torch.device("cpu"))


def exact(run, degree):
    """The least-squares polynomial of the training points, in a basis where it is well conditioned."""
    dataset = run.dataset
    x, y = (v[dataset.train.rows].ravel() for v in (dataset.raw.inputs, dataset.raw.targets))
    return np.polynomial.Polynomial.fit(x, y, degree)


def test_every_degree_converges_to_least_squares(degrees):
    for member in degrees.members:
        run = open_run(degrees.path / member.name)
        x = np.linspace(0, 1, 50)
        want = exact(run, member.changes["model.degree"])(x)
        assert run.predict(x[:, None]) == pytest.approx(want, abs=0.02 * max(1, np.abs(want).max()))


def test_the_training_loss_falls_with_the_degree_and_the_validation_loss_turns(degrees):
    train = [member.train["loss"] for member in degrees.members]
    validation = [member.validation["loss"] for member in degrees.members]
    assert train == sorted(train, reverse=True)
    assert train[-1] < 1e-6  # ten points, ten coefficients
    best = validation.index(min(validation))
    assert 0 < best < len(validation) - 1
    assert validation[0] > 2 * validation[best]
    assert validation[-1] > 4 * validation[best]
    assert degrees.best is degrees.choices[best]


def test_weight_decay_tames_the_degree_that_overfits(out, cpu):
    found = vary(find("curve-fitting"), {"train.weight_decay": "0,1e-4,1e-2,10"}, out, cpu)
    train = [member.train["loss"] for member in found.members]
    validation = [member.validation["loss"] for member in found.members]
    assert train == sorted(train)
    assert min(validation) < validation[0] / 4
    assert validation[-1] > min(validation)


def test_the_report_is_called_by_its_folder_and_says_what_was_varied(degrees):
    page = (degrees.path / "report.html").read_text()
    assert "<h1>study</h1>" in page
    assert "<h2>Loss against model.degree</h2>" in page


def test_the_report_draws_each_fitted_curve(degrees):
    page = (degrees.path / "report.html").read_text()
    assert set(degrees.fits) == {f"degree={d}" for d in (1, 2, 3, 5, 9)}
    for degree in (1, 2, 3, 5, 9):
        assert f"<h3>degree {degree}" in page
        assert f'href="degree={degree}/report.html"' in page
    assert "degree 5 · best" in page


def test_more_points_cure_the_degree_that_overfits_and_each_curve_stands_with_its_own_points(out, cpu):
    found = vary(find("curve-fitting"), {"data.examples": "10,100"}, out, cpu)
    few, many = (found.fits[member.name] for member in found.members)
    assert len(few.train[0]) == 10
    assert len(many.train[0]) == 100
    assert found.members[1].validation["loss"] < found.members[0].validation["loss"] / 4


def test_two_knobs_make_a_grid_of_single_trainings(small, out, cpu, tmp_path):
    found = vary(small, {"model.hidden": "4/8,8", "train.lr": "0.001,0.1"}, out, cpu)
    assert [m.changes for m in found.members] == [
        {"model.hidden": [4], "train.lr": 0.001},
        {"model.hidden": [4], "train.lr": 0.1},
        {"model.hidden": [8, 8], "train.lr": 0.001},
        {"model.hidden": [8, 8], "train.lr": 0.1},
    ]
    assert [m.name for m in found.members][-1] == "hidden=8,8,lr=0.1"
    alone = Experiment.of(small.override({"model.hidden": [8, 8], "train.lr": 0.1}), cpu)
    assert found.members[-1].test == experiment.start(alone, tmp_path / "alone").test
    assert found.fits == {}


def test_a_training_that_diverges_is_told_and_the_others_go_on(out, cpu):
    recipe = find("linear-regression").override({"data.examples": 60, "train.epochs": 40})
    found = vary(recipe, {"train.lr": "0.01,1e30"}, out, cpu)
    assert [m.ended for m in found.members] == ["finished", "diverged"]
    assert found.members[1].validation == {}
    assert found.best.members == [found.members[0]]
    assert "(diverged)" in (out / "report.html").read_text()
    assert vary(recipe, {"train.lr": "0.01,1e30"}, out, cpu).members == found.members


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"model.degre": "1,2"}, "Did you mean 'degree'"),
        ({"model.degree": "1,two"}, "model.degree=two is not valid"),
        ({"model.degree": "0:3"}, "model.degree=0 is not valid"),
        ({"model.degree": "1:5:log"}, "a range is two whole numbers"),
        ({"train.lr": "0.1:0.5"}, "Name the values"),
        ({"model.degree": "9:1"}, "a range is two whole numbers"),
        ({"model.degree": "1:100000"}, "at most 1000 values"),
        ({"model.degree": "1:30", "train.seed": "0:9"}, "300 trainings"),
        ({"modle.degree": "1,2"}, "There is no section 'modle'"),
        ({"train": "1,2"}, "train is not a name"),
        ({"model.degree.x": "1,2"}, "has no keys below it"),
        ({"model.degree": "1", "train.lr": "1", "train.seed": "1"}, "One or two knobs"),
        ({}, "One or two knobs"),
        ({"train.batch_size": "full,8"}, "does not go with lbfgs"),
    ],
)
def test_what_cannot_be_varied_is_refused_before_anything_is_made(out, cpu, knobs, message):
    with pytest.raises(GradlabError, match=message):
        vary(find("curve-fitting"), knobs, out, cpu)
    assert not out.exists()


def test_parts_and_knobs_of_parts_may_be_varied(small, out, cpu):
    found = vary(small, {"train.optimizer": "sgd,adam"}, out, cpu)
    assert [m.changes["train.optimizer"] for m in found.members] == ["sgd", "adam"]
    assert found.members[0].test != found.members[1].test


def test_the_study_file_says_what_came_out(degrees):
    written = json.loads((degrees.path / "study.json").read_text())
    assert written["result"] == json.loads(json.dumps(degrees.to_json()))
    assert written["result"]["best"] == {"model.degree": 5}
