import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.tasks import Bernoulli, Classify
from gradlab.tasks.evaluation import evaluate

TARGETS = Targets(classes=["no", "yes"], counts=[75, 25])
TASK = Bernoulli(TARGETS)


def batch(count=9, kind=torch.float32):
    return 3 * torch.randn(count, 1, dtype=kind, requires_grad=True), torch.arange(count) % 2


def test_the_loss_and_its_gradient_are_binary_cross_entropy():
    z, y = batch()
    total, count = TASK.loss(z, y)
    expected = F.binary_cross_entropy_with_logits(z[:, 0], y.float(), reduction="sum")
    assert count == 9
    assert_close(total, expected)
    assert_close(torch.autograd.grad(total, z), torch.autograd.grad(expected, z))


def test_the_loss_is_the_equation_of_the_docstring_even_where_it_is_large():
    z, y = torch.tensor([[-200.0], [-1.0], [2.0], [300.0]]), torch.tensor([1, 0, 1, 0])
    expected = sum(
        math.log1p(math.exp(-abs(v))) + max(v, 0) - t * v for v, t in zip(z[:, 0].tolist(), y.tolist(), strict=True)
    )
    assert TASK.loss(z, y)[0].item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("knobs", [{}, {"label_smoothing": 0.2}, {"class_weights": "balanced"}])
def test_it_is_the_model_of_the_two_logits_0_and_z(knobs):
    one, two = Bernoulli(TARGETS, **knobs), Classify(TARGETS, **knobs)
    (z, y), weight = batch(), torch.rand(9)
    pair = torch.cat([torch.zeros_like(z), z], 1)
    for judge in ("loss", "training_loss"):
        assert_close(getattr(one, judge)(z, y, weight), getattr(two, judge)(pair, y, weight))
    assert evaluate(nn.Identity(), one, Examples.of(z.detach(), y)) == evaluate(
        nn.Identity(), two, Examples.of(pair.detach(), y)
    )
    assert one.decode(z.detach()) == two.decode(pair.detach())


def test_smoothed_labels_are_probabilities_between():
    z, y = batch(kind=torch.float64)
    total, _ = Bernoulli(TARGETS, label_smoothing=0.2).training_loss(z, y)
    assert_close(total, F.binary_cross_entropy_with_logits(z[:, 0], 0.8 * y.double() + 0.1, reduction="sum"))


def test_predictions_name_the_class_and_give_both_probabilities():
    likely, unlikely = TASK.decode(torch.tensor([[2.0], [-1.0]]))
    assert (likely["label"], unlikely["label"]) == ("yes", "no")
    assert likely["probability"] == pytest.approx(1 / (1 + math.exp(-2)))
    assert unlikely["probabilities"] == pytest.approx({"no": 1 / (1 + math.exp(-1)), "yes": 1 / (1 + math.e)})


def test_a_model_that_knows_nothing_costs_log_2():
    value, formula = TASK.expected_initial_loss()
    assert formula == "log 2"
    assert (
        evaluate(nn.Identity(), TASK, Examples.of(torch.zeros(8, 1), torch.arange(8) % 2))["loss"]
        == pytest.approx(value)
        == math.log(2)
    )


def test_the_baseline_is_the_odds_of_training(baseline):
    training, target = torch.tensor([1, 1, 1, 0]), torch.tensor([1, 0, 1])
    name, outputs = baseline(TASK, training, 3)
    judge = DummyClassifier(strategy="prior").fit(np.zeros((4, 1)), training).predict_proba(np.zeros((3, 1)))
    assert name == "majority class"
    assert outputs.shape == (3, 1)
    assert_close(outputs.double().sigmoid()[:, 0], torch.from_numpy(judge[:, 1]), atol=1e-6, rtol=0)
    figures = evaluate(nn.Identity(), TASK, Examples.of(outputs, target))
    assert figures["loss"] == pytest.approx(log_loss(target, judge))
    assert figures["auroc"] == 0.5


@pytest.mark.parametrize("targets", [Targets(classes=["a", "b", "c"]), Targets(mean=[0.0], std=[1.0])])
def test_other_than_two_classes_are_refused(targets):
    with pytest.raises(GradlabError, match=r"two classes, got 3|needs classes"):
        Bernoulli(targets)
