"""The features by which samples are compared, read again."""

import math

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.files import write_sums
from gradlab.files.tensors import load_tensors, save_tensors
from gradlab.run.judge import read_judge, write_judge
from gradlab.specs import Picture
from gradlab.tasks.generative import Judge
from gradlab.tasks.generative.features import feature_network

SPEC = Picture(1, 8, 8)


@pytest.fixture
def folder(tmp_path):
    network = feature_network("random", SPEC)
    dimension = network(torch.zeros(1, 1, 8, 8)).shape[1]
    write_judge(Judge("random", network, torch.randn(6, dimension)), tmp_path / "features")
    return tmp_path / "features"


def replace(folder, file, change):
    """Other tensors in a file, under sums that are right."""
    path = folder / f"{file}.safetensors"
    tensors = load_tensors(path)
    change(tensors)
    path.unlink()
    (folder / "SHA256SUMS").unlink()
    save_tensors(path, tensors)
    write_sums(folder)


def test_judge_is_read_as_it_was_written(folder):
    judge = read_judge(folder, SPEC, 10)
    assert judge.kind == "random"
    assert judge.training.shape == (6, judge.dimension)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("file", ["network", "training"])
def test_features_that_are_not_finite_are_damage(folder, file, value):
    def spoil(tensors):
        next(tensor for tensor in tensors.values() if tensor.is_floating_point()).view(-1)[0] = value

    replace(folder, file, spoil)
    with pytest.raises(GradlabError, match=rf"{file}\.safetensors is damaged: .+ is not finite"):
        read_judge(folder, SPEC, 10)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.update(others=tensors.pop("features")),
        lambda tensors: tensors.update(features=tensors["features"][:, :-1].contiguous()),
        lambda tensors: tensors.update(features=torch.tensor(1.0)),
    ],
)
def test_training_features_of_another_form_are_damage(folder, change):
    replace(folder, "training", change)
    with pytest.raises(GradlabError, match=r"training\.safetensors is damaged: it has no features"):
        read_judge(folder, SPEC, 10)
