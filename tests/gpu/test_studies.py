"""Studies on a CUDA device: what they measure lies there too."""

import pytest
import torch

from gradlab.recipes import find
from gradlab.studies.checklist import failures, run_checks
from gradlab.studies.folds import cross_validate
from gradlab.studies.range_test import find_rate
from gradlab.training.experiment import Experiment

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

CUDA = torch.device("cuda")


def prepare(name):
    return Experiment.of(find(name), CUDA)


@pytest.mark.parametrize("name", ["digits-mlp", "digits-dropout", "iris-softmax", "diabetes-mlp"])
def test_sound_recipes_pass_their_checks(name):
    checks = run_checks(prepare(name))
    assert failures(checks) is None, checks


def test_the_range_test_finds_a_rate_and_stops_where_the_loss_explodes():
    found = find_rate(prepare("digits-mlp"))
    assert found.suggestion is not None
    assert 5e-4 < found.suggestion < 2e-2
    assert found.stopped != "the end of the range"


def test_folds_are_trained_and_judged(tmp_path):
    recipe = find("digits-mlp").override({"train.epochs": 3})
    found = cross_validate(recipe, 3, tmp_path / "study", CUDA)
    assert found.test["accuracy"].mean > 0.8
    assert all(fold.train["accuracy"] > 0.8 for fold in found.folds)
