"""How samples are judged: as many of each, beside real examples, with errors that tell how sure a figure is."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.specs import Picture, Table
from gradlab.tasks import compare, evaluate
from gradlab.tasks.generative import Generative, Judge, Request
from gradlab.tasks.generative.features import classifier, feature_network, kind_of, without_head
from gradlab.tasks.objective import Objective


class Cloud(nn.Module):
    """Normal numbers, moved."""

    def __init__(self, move=0.0):
        super().__init__()
        self.move = nn.Parameter(torch.tensor(move))


class Drawn(Cloud):
    """The same, as a model that draws by itself."""

    def sample(self, count):
        return self.move + torch.randn(count, 2)


class Clouds(Generative):
    name = "clouds"
    at_once = 64

    def objectives(self):
        return {"loss": Objective(loss=lambda model, batch: (batch["inputs"].sum() * model.move, len(batch["inputs"])))}

    def noise(self, model, count):
        assert count <= self.at_once
        return torch.randn(count, 2)

    def from_noise(self, model, noise, request):
        return noise + model.move


class ByClass(Clouds):
    conditional = True
    options = ("guidance",)

    def from_noise(self, model, noise, request):
        return noise + 10 * request.labels[:, None]


@pytest.fixture
def split():
    return Examples.of(torch.randn(150, 2), torch.zeros(150, dtype=torch.long))


@pytest.fixture
def task():
    task = Clouds(Targets())
    task.judge = Judge("numbers", nn.Flatten(), torch.randn(400, 2))
    return task


def test_a_perfect_model_is_as_far_as_real_examples_are(task, split):
    found = evaluate(Cloud(), task, split, finished=True)
    apart = found["frechet"] - found["frechet_real"]
    assert abs(apart) < 4 * math.hypot(found["frechet_se"], found["frechet_real_se"])
    assert found["precision"] > 0.8
    assert found["recall"] > 0.8
    assert found["sliced_wasserstein"] < 2 * found["sliced_wasserstein_real"]


def test_a_model_that_is_moved_by_d_has_a_distance_of_d_squared(task, split):
    found = evaluate(Cloud(5.0), task, split, finished=True)
    assert found["frechet"] == pytest.approx(50, rel=0.1)
    assert found["precision"] < 0.1


def test_figures_are_the_same_each_time_and_draw_nothing_from_a_training(task, split):
    state = torch.get_rng_state()
    first, again = (evaluate(Cloud(), task, split, finished=True) for _ in range(2))
    assert first == again
    assert torch.equal(torch.get_rng_state(), state)


def test_during_a_training_nothing_is_drawn(task, split):
    assert set(evaluate(Cloud(), task, split)) == {"loss"}


def test_a_baseline_that_draws_is_judged_by_its_samples(task, split):
    figures = compare({"near": Drawn(0.0), "far": Drawn(3.0)}, task, split)
    assert figures["far"]["frechet"] > figures["near"]["frechet"]
    assert "loss" not in figures["near"]
    assert "frechet_real" not in figures["near"]


def test_without_a_judge_or_with_too_few_examples_there_are_no_such_figures(task, split):
    few = Examples.of(torch.randn(3, 2), torch.zeros(3))
    assert set(evaluate(Cloud(), task, few, finished=True)) == {"loss"}
    (note,) = task.closing(Cloud(), {"test": few})["notes"]
    assert note == "Samples are not compared with test examples: it takes more than 3, and there are 3 examples."
    task.judge = replace(task.judge, most=2)
    assert "there are 2 samples (task.compared)" in task.closing(Cloud(), {"test": split})["notes"][0]
    task.judge = None
    assert set(evaluate(Cloud(), task, split, finished=True)) == {"loss"}
    assert compare({"near": Drawn(0.0)}, task, split) == {}


def test_what_is_no_number_has_no_distance_and_covers_nothing(task, split):
    found = evaluate(Cloud(math.nan), task, split, finished=True)
    assert math.isnan(found["frechet"])
    assert found["precision"] == 0


def test_which_figures_are_better_higher(task):
    assert [name for name in task.finished_figures if task.higher_is_better(name)] == ["precision", "recall"]
    assert not task.higher_is_better("loss")


def test_signatures_say_by_which_features_and_how_many_samples(task):
    words = task.all_signatures["frechet"]
    assert "the numbers themselves" in words
    assert "10 draws" in words
    assert "(2 numbers)" in words
    assert task.closing(Cloud(), {"test": Examples.of(torch.randn(50, 2), torch.zeros(50))})["judged"] == {
        "features": "numbers",
        "dimension": 2,
        "draws": 10,
        "samples": {"test": 50},
    }


def test_a_model_that_was_told_classes_draws_them_as_often_as_training_has_them():
    task = ByClass(Targets(classes=["a", "b"], counts=[0, 3]))
    assert task.draw(Cloud(), 100).mean() == pytest.approx(10, abs=0.5)
    labels = torch.tensor([0] * 50 + [1] * 50)
    drawn = task.draw(Cloud(), 100, Request(labels=labels))
    assert drawn[:50].mean() == pytest.approx(0, abs=0.5)
    assert drawn[50:].mean() == pytest.approx(10, abs=0.5)


def test_nothing_guides_a_model_that_was_not_told_classes():
    task = ByClass(Targets(classes=["a", "b"], counts=[1, 1]))
    task.check_request(Request(guidance=2.0))
    task.conditional = False
    with pytest.raises(GradlabError, match="--guidance"):
        task.check_request(Request(guidance=2.0))


@pytest.mark.parametrize(
    ("spec", "counts", "kind"),
    [
        (Table(2), [5, 5], "numbers"),
        (Picture(1, 8, 8), [5, 5], "classifier"),
        (Picture(1, 8, 8), [5, 0], "random"),
        (Picture(3, 8, 8), [], "random"),
        (Picture(1, 3, 3), [5, 5], "numbers"),
    ],
)
def test_features_are_a_classifiers_where_there_are_classes(spec, counts, kind):
    assert kind_of(spec, Targets(classes=["a", "b"], counts=counts)) == kind


def test_features_are_the_inputs_of_the_last_layer():
    spec, x = Picture(1, 8, 8), torch.randn(5, 1, 8, 8)
    whole, seen = classifier(spec, 3).eval(), []
    whole[1].classifier[-1].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    whole(x)
    assert torch.equal(without_head(classifier(spec, 3).eval())(x), seen[0])
    first = feature_network("random", spec)(x)
    torch.rand(1)  # whatever was drawn meanwhile
    assert torch.equal(feature_network("random", spec)(x), first)
    assert seen[0].shape == (5, 64)
