"""Test-time augmentation."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.data import Examples, Targets
from gradlab.errors import GradlabError
from gradlab.tasks import Classify, Regress, predict
from gradlab.tasks.evaluation import evaluate
from gradlab.tasks.views import Views

TARGETS = Targets(classes=["left", "right"])


class Corner(nn.Module):
    """The pixel at one place."""

    def __init__(self, row, column):
        super().__init__()
        self.row, self.column = row, column

    def forward(self, x):
        return x[:, :1, self.row, self.column]


def test_the_mean_is_over_the_pixels_that_come_to_a_place():
    x = torch.arange(12.0).reshape(1, 1, 3, 4)
    assert Views(Corner(0, 0), "flip")(x).item() == (0 + 3) / 2
    # Up to the left (1, 1) shows, down to the right the reflection at the edge, (1, 1) again; mirrored (1, 2).
    by_flip, by_moves = (0 + 3) / 2, ((5 + 6) / 2 + (5 + 6) / 2) / 2
    assert Views(Corner(0, 0), "flip-shift")(x).item() == (by_flip + by_moves) / 2


def test_a_model_that_does_not_care_where_things_are_says_the_same():
    x = torch.randn(4, 3, 6, 6)
    model = nn.Sequential(nn.Flatten(2), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(3, 2))
    assert_close(Views(model, "flip")(x), model(x))


def test_evaluation_and_use_take_the_mean_and_training_does_not():
    torch.manual_seed(0)
    x, y = torch.randn(40, 1, 5, 5), torch.arange(40) % 2
    model = nn.Sequential(nn.Flatten(), nn.Linear(25, 2))
    plain, task = Classify(TARGETS), Classify(TARGETS, tta="flip-shift")
    wanted = evaluate(Views(model, "flip-shift"), plain, Examples.of(x, y))
    assert evaluate(model, task, Examples.of(x, y)) == wanted
    assert evaluate(model, plain.with_tta("flip-shift"), Examples.of(x, y)) == wanted
    assert wanted["loss"] != evaluate(model, plain, Examples.of(x, y))["loss"]
    assert torch.equal(task.forward(model, {"inputs": x}), model(x))
    assert torch.equal(predict(task.at_test(model), x), Views(model, "flip-shift")(x).detach())


def test_only_pictures_have_views():
    with pytest.raises(GradlabError, match=r"Test-time augmentation \(flip\) is for pictures, .* the shape \(7,\)"):
        Classify(TARGETS, tta="flip").check(nn.Identity(), Examples.of(torch.zeros(4, 7), torch.zeros(4).long()))
    with pytest.raises(GradlabError, match="for classifiers of pictures"):
        Regress(Targets(mean=[0.0], std=[1.0])).with_tta("flip")
