"""With a rare class a ranking selects weights, unless the user has chosen a figure; balanced problems keep the loss."""

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.recipes import find
from gradlab.registry import Part
from gradlab.report.curves import learning_section
from gradlab.studies.sweep import plan_search
from gradlab.tasks import Classify, Criterion, tasks
from gradlab.tasks.rare_class import selection_reason, with_best_metric
from gradlab.training.experiment import Experiment, start

CPU = torch.device("cpu")


def split(*labels):
    return Examples.of(torch.zeros(len(labels), 1), torch.tensor(labels))


def chosen(counts, held_out=(), task="classify", **values):
    targets = Targets(classes=[str(i) for i in range(len(counts))], counts=counts)
    return with_best_metric(tasks.resolve(Part(task, values), "task"), targets, held_out).values.get("best_metric")


@pytest.mark.parametrize(
    ("counts", "metric"),
    [
        ([97, 3], "average_precision"),
        ([3, 97], "average_precision"),
        ([90, 10], "auto"),
        ([50, 45, 5], "auroc"),
        ([34, 33, 33], "auto"),
        ([10] * 20, "auto"),
        ([100] * 9 + [30], "auroc"),
        ([100] * 9 + [60], "auto"),
        ([60, 40, 0], "auto"),
        ([], "auto"),
    ],
)
def test_the_figure_follows_from_the_rarest_class(counts, metric):
    assert chosen(counts) == metric


def test_a_figure_of_the_user_stays():
    assert chosen([97, 3], best_metric="loss") == "loss"
    assert chosen([97, 3], best_metric="accuracy") == "accuracy"


def test_held_out_examples_of_one_class_cannot_be_ranked():
    assert chosen([97, 3], [split(0, 0, 1), split()]) == "average_precision"
    assert chosen([97, 3], [split(0, 0, 1), split(0, 0)]) == "auto"


def test_other_tasks_are_left_alone():
    assert chosen([97, 3], task="bernoulli") == "average_precision"
    assert chosen([97, 3], task="margin") is None


def test_average_precision_is_that_of_scikit_learn(rng):
    logits, target = torch.from_numpy(rng.normal(size=(200, 2))), torch.from_numpy((rng.random(200) < 0.1).astype(int))
    for counts, member in (([90, 10], 1), ([10, 90], 0)):
        task = Classify(Targets(classes=["a", "b"], counts=counts), best_metric="average_precision")
        metric = task.metrics["average_precision"]
        parts = [metric.sums(logits[i::3], target[i::3]) for i in range(3)]
        got = metric.value(metric.merge(metric.merge(*parts[:2]), parts[2]))
        wanted = average_precision_score(target == member, logits.softmax(1)[:, member])
        assert got == pytest.approx(wanted)
    assert np.isnan(metric.value(metric.sums(logits, torch.zeros(200, dtype=torch.long))))


def test_average_precision_of_more_than_two_classes_is_refused():
    with pytest.raises(GradlabError, match="is of two classes, but there are 3"):
        Classify(Targets(classes=["a", "b", "c"]), best_metric="average_precision")


@pytest.fixture
def rare(tmp_path, rng):
    x = rng.normal(size=(400, 3))
    np.savez(tmp_path / "rare.npz", x=x, y=(x[:, 0] + rng.normal(size=400) > 2.6).astype(int))
    return {"data.path": str(tmp_path / "rare.npz"), "train.steps": 30, "train.evaluate_every": 5}


def test_the_best_weights_are_those_of_the_best_ranking(rare, tmp_path):
    run = start(Experiment.of(find("npz").override(rare), CPU), tmp_path / "run")
    assert run.recipe.task.values["best_metric"] == "average_precision"
    assert run.task.criterion == Criterion("average_precision", higher_is_better=True)
    lines = [line for line in run.metrics if line["split"] == "validation"]
    best = max(lines, key=lambda line: line["average_precision"])
    assert f"best, of step {best['step']}" in run.finished["weights"]
    assert run.finished["best_baseline"]["metric"] == "average_precision"
    assert "highest validation average precision, since only" in str(learning_section(run))
    assert selection_reason(run.task).endswith("of the training examples are of the class '1'")


def test_with_a_figure_of_the_user_nothing_is_said(rare):
    experiment = Experiment.of(find("npz").override({**rare, "task": "classify", "task.best_metric": "loss"}), CPU)
    assert experiment.task.criterion == Criterion()
    assert selection_reason(experiment.task) == ""


@pytest.mark.parametrize(("asked", "metric"), [(None, "average_precision"), ("accuracy", "accuracy")])
def test_a_sweep_ranks_by_it_unless_a_metric_is_named(rare, tmp_path, asked, metric):
    recipe, space = find("npz").override(rare), {"train.lr": "1e-4:1:log"}
    assert plan_search(recipe, space, 2, tmp_path, "cpu", jobs=1, storage=None, metric=asked).metric == metric
