import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_class_weight
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.registry import Part
from gradlab.tasks import Classify, tasks
from gradlab.tasks.evaluation import evaluate

TASK = Classify(Targets(classes=["ant", "bee", "cat"]))


def test_the_loss_is_the_sum_of_negative_log_probabilities_and_their_count():
    logits, target = torch.randn(7, 3), torch.arange(7) % 3
    total, count = TASK.loss(logits, target)
    assert count == 7
    assert total.item() / count == pytest.approx(
        log_loss(target, logits.double().softmax(1), labels=[0, 1, 2]), rel=1e-6
    )


def test_a_model_that_knows_nothing_costs_the_logarithm_of_the_number_of_classes():
    value, formula = TASK.expected_initial_loss()
    assert (value, formula) == (math.log(3), "log 3")
    assert evaluate(nn.Identity(), TASK, Examples.of(torch.zeros(9, 3), torch.arange(9) % 3))["loss"] == pytest.approx(
        value
    )


def test_the_baseline_is_the_most_frequent_class_with_the_training_frequencies(baseline):
    training, target = torch.tensor([0, 1, 1, 1, 2, 2]), torch.tensor([1, 1, 0, 2])
    name, outputs = baseline(TASK, training, 4)
    judge = DummyClassifier(strategy="prior").fit(np.zeros((6, 1)), training)
    assert name == "majority class"
    assert_close(
        outputs.double().softmax(1), torch.from_numpy(judge.predict_proba(np.zeros((4, 1)))), atol=1e-6, rtol=0
    )
    figures = evaluate(nn.Identity(), TASK, Examples.of(outputs, target))
    assert figures["accuracy"] == judge.score(np.zeros((4, 1)), target) == 0.5
    assert figures["loss"] == pytest.approx(log_loss(target, judge.predict_proba(np.zeros((4, 1))), labels=[0, 1, 2]))


def test_a_class_that_training_lacks_does_not_make_the_baseline_infinite(baseline):
    _, outputs = baseline(TASK, torch.tensor([0, 0, 1]), 1)
    assert outputs.isfinite().all()


def test_predictions_name_the_class_and_give_probabilities_that_add_up():
    (said,) = TASK.decode(torch.tensor([[0.0, 2.0, -1.0]]))
    assert said["label"] == "bee"
    assert list(said["probabilities"]) == ["ant", "bee", "cat"]
    assert sum(said["probabilities"].values()) == pytest.approx(1)
    assert said["probability"] == max(said["probabilities"].values())


@pytest.mark.parametrize("targets", [Targets(mean=[0.0], std=[1.0]), Targets(classes=["only"]), Targets(classes=[])])
def test_targets_that_are_not_at_least_two_classes_are_refused(targets):
    with pytest.raises(GradlabError, match="lassif"):
        Classify(targets)


# What is minimised.

COUNTS = [50, 30, 20]
KNOBS = [(0.0, "none"), (0.1, "none"), (0.0, "balanced"), (0.3, "balanced")]


def with_knobs(smoothing, weights, counts=COUNTS):
    targets = Targets(classes=["ant", "bee", "cat"], counts=counts)
    return Classify(targets, label_smoothing=smoothing, class_weights=weights)


def batch(count=9):
    return torch.randn(count, 3, requires_grad=True), torch.arange(count) % 3


@pytest.mark.parametrize(("smoothing", "weights"), KNOBS)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_training_loss_and_its_gradient_are_those_of_torch(smoothing, weights, kind):
    logits, target = torch.randn(9, 3, dtype=kind, requires_grad=True), torch.arange(9) % 3
    w = torch.tensor([100 / (3 * n) for n in COUNTS], dtype=kind) if weights == "balanced" else None
    total, count = with_knobs(smoothing, weights).training_loss(logits, target)
    expected = F.cross_entropy(logits, target, w, reduction="sum", label_smoothing=smoothing)
    assert count == 9
    assert_close(total, expected)
    assert_close(torch.autograd.grad(total, logits), torch.autograd.grad(expected, logits))


def test_the_training_loss_is_the_equation_of_the_docstring():
    task, (logits, target) = with_knobs(0.3, "balanced"), batch()
    w, nll = [100 / (3 * n) for n in COUNTS], -logits.detach().double().log_softmax(1)
    expected = sum(
        0.7 * w[y] * nll[i, y] + 0.3 / 3 * sum(w[c] * nll[i, c] for c in range(3)) for i, y in enumerate(target)
    )
    assert task.training_loss(logits, target)[0].item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize(("smoothing", "weights"), KNOBS)
@pytest.mark.parametrize("judge", ["loss", "training_loss"])
def test_the_weight_of_an_example_multiplies_its_loss(smoothing, weights, judge):
    loss = getattr(with_knobs(smoothing, weights), judge)
    (logits, target), weight = batch(4), torch.tensor([0.0, 0.5, 1.5, 2.0])
    total, count = loss(logits, target, weight)
    each = [loss(logits[i : i + 1], target[i : i + 1])[0] for i in range(4)]
    assert count == 4
    assert_close(total, sum(w * one for w, one in zip(weight, each, strict=True)))


@pytest.mark.parametrize(("smoothing", "weights"), KNOBS)
def test_evaluation_and_expectation_are_of_the_plain_loss(smoothing, weights):
    task, (logits, target) = with_knobs(smoothing, weights), batch()
    plain = F.cross_entropy(logits, target).item()
    assert task.loss(logits, target)[0].item() / 9 == pytest.approx(plain, rel=1e-6)
    assert evaluate(nn.Identity(), task, Examples.of(logits.detach(), target))["loss"] == pytest.approx(plain, rel=1e-6)
    assert evaluate(nn.Identity(), task, Examples.of(logits.detach(), target))["loss"] == pytest.approx(plain, rel=1e-6)
    assert task.expected_initial_loss() == TASK.expected_initial_loss()


def test_balanced_weights_are_those_of_scikit_learn_and_have_mean_1_over_the_training_examples():
    labels = np.repeat([0, 1, 2], COUNTS)
    weights = with_knobs(0.0, "balanced", Targets.of(labels, ["ant", "bee", "cat"]).counts).weights
    np.testing.assert_allclose(weights, compute_class_weight("balanced", classes=np.arange(3), y=labels), rtol=1e-6)
    assert weights[labels].mean().item() == pytest.approx(1, rel=1e-6)


def test_a_class_that_training_lacks_weighs_nothing_and_the_mean_stays_1():
    weights = with_knobs(0.0, "balanced", [30, 0, 10]).weights
    assert weights[1] == 0
    assert (weights @ torch.tensor([30.0, 0.0, 10.0])).item() / 40 == pytest.approx(1)


def test_balanced_weights_without_counts_are_refused():
    with pytest.raises(GradlabError, match="how many training examples each class has"):
        with_knobs(0.0, "balanced", [])


def test_the_knobs_are_read_off_the_class():
    part = tasks.resolve(Part("classify", {"label_smoothing": "0.1", "class_weights": "balanced"}), "task")
    assert part.values == {"label_smoothing": 0.1, "class_weights": "balanced", "tta": "none", "best_metric": "auto"}
    for bad in ({"label_smoothing": 1.0}, {"label_smoothing": -0.1}, {"class_weights": "even"}):
        with pytest.raises(GradlabError, match="is not valid"):
            tasks.resolve(Part("classify", bad), "task")
