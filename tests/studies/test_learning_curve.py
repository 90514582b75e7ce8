"""The learning curve is the same recipe on fewer examples, and nothing else."""

import json

import pytest

from gradlab.errors import GradlabError
from gradlab.recipes import find
from gradlab.run import open_run
from gradlab.studies.learning_curve import curve_sizes, learning_curve
from gradlab.training import experiment
from gradlab.training.experiment import Experiment


@pytest.fixture
def recipe():
    changes = {"train.epochs": 3, "model.hidden": [16], "train.batch_size": 64}
    return find("digits-mlp").override(changes)


def test_each_point_is_a_training_with_a_limit_and_as_many_updates_as_all_examples(recipe, out, cpu, tmp_path):
    found = learning_curve(recipe, out, cpu, sizes=[50, 400, 1222])
    assert [p.examples for p in found.points] == [50, 400, 1222]
    assert len({p.steps for p in found.points}) == 1
    steps = found.points[-1].steps
    limited = recipe.override({"data.limit": 50, "train.steps": steps, "train.evaluate_every": steps // 3})
    alone = experiment.start(Experiment.of(limited, cpu), tmp_path / "alone")
    whole = experiment.start(Experiment.of(recipe, cpu), tmp_path / "whole")
    assert found.points[0].test == alone.test
    assert found.points[-1].test == whole.test
    assert found.points[-1].validation == whole.validation


def test_the_training_figures_are_those_of_the_examples_that_were_trained_on(recipe, out, cpu):
    found = learning_curve(recipe, out, cpu, sizes=[50, 1222])
    run = open_run(out / "examples-50")
    train = run.dataset.train
    assert len(train) == 50
    assert found.points[0].train == run.task.evaluate(run.model, run.task.encoded(train))


def test_more_examples_help_on_digits_and_the_gap_closes(recipe, out, cpu):
    found = learning_curve(recipe.override({"train.epochs": 6, "train.lr": 0.01}), out, cpu, sizes=[40, 300, 1222])
    losses = [point.validation["loss"] for point in found.points]
    assert losses == sorted(losses, reverse=True)
    gaps = [point.validation["loss"] - point.train["loss"] for point in found.points]
    assert gaps[0] > 2 * gaps[-1]
    assert "more examples would help" in found.verdict


def test_default_sizes_are_even_in_the_logarithm_and_end_with_all():
    for examples, least in ((1222, 20), (60000, 20), (10, 0), (5, 0), (1, 0), (100, 60)):
        sizes = curve_sizes(examples, least)
        assert sizes[-1] == examples
        assert sizes == sorted(set(sizes))
        assert sizes[0] >= min(examples, least)
    ratios = [b / a for a, b in zip(curve_sizes(60000), curve_sizes(60000)[1:], strict=False)]
    assert max(ratios) / min(ratios) == pytest.approx(1, abs=0.01)


def test_the_folder_goes_on_and_refuses_other_sizes(recipe, out, cpu):
    first = learning_curve(recipe, out, cpu, sizes=[50, 1222])
    assert learning_curve(recipe, out, cpu, sizes=[50, 1222]) == first
    with pytest.raises(GradlabError, match="holds another study"):
        learning_curve(recipe, out, cpu, sizes=[60, 1222])
    written = json.loads((out / "study.json").read_text())
    assert written["result"] == json.loads(json.dumps(first.to_json()))
    assert "Learning curve" in (out / "report.html").read_text()
