import math

import numpy as np
import pytest
import torch
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from torch.testing import assert_close

from gradlab.data import Targets
from gradlab.errors import GradlabError
from gradlab.tasks import Classify
from gradlab.tasks.evaluation import score

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
    assert score(TASK, torch.zeros(9, 3), torch.arange(9) % 3)["loss"] == pytest.approx(value)


def test_the_baseline_is_the_most_frequent_class_with_the_training_frequencies():
    training, target = torch.tensor([0, 1, 1, 1, 2, 2]), torch.tensor([1, 1, 0, 2])
    name, outputs = TASK.baseline(training, 4)
    judge = DummyClassifier(strategy="prior").fit(np.zeros((6, 1)), training)
    assert name == "majority class"
    assert_close(
        outputs.double().softmax(1), torch.from_numpy(judge.predict_proba(np.zeros((4, 1)))), atol=1e-6, rtol=0
    )
    figures = score(TASK, outputs, target)
    assert figures["accuracy"] == judge.score(np.zeros((4, 1)), target) == 0.5
    assert figures["loss"] == pytest.approx(log_loss(target, judge.predict_proba(np.zeros((4, 1))), labels=[0, 1, 2]))


def test_a_class_that_training_lacks_does_not_make_the_baseline_infinite():
    _, outputs = TASK.baseline(torch.tensor([0, 0, 1]), 1)
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
