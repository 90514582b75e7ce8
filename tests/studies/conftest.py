"""Small recipes, and what the tests of studies ask of every folder."""

from pathlib import Path

import pytest
import torch

from gradlab.recipe import Recipe
from gradlab.recipes import find
from gradlab.training.experiment import Experiment

CPU = torch.device("cpu")


@pytest.fixture
def cpu() -> torch.device:
    return CPU


@pytest.fixture
def small() -> Recipe:
    """A training of a moment: two classes in the plane."""
    changes = {"data.examples": 120, "model.hidden": [8], "train.steps": 12, "train.evaluate_every": 4}
    return find("moons-mlp").override(changes)


@pytest.fixture
def prepare():
    """`prepare(name, {key: value})`: everything of a training but the training."""
    return lambda name, changes=None: Experiment.of(find(name).override(changes or {}), CPU)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "study"
