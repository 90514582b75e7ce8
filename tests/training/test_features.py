"""The classifier by whose features samples of a training are judged."""

import pytest
import torch
from torch import nn

from gradlab.data import Examples, load, sources
from gradlab.errors import GradlabError
from gradlab.files import Damaged
from gradlab.registry import Part
from gradlab.run.judge import read_judge, write_judge
from gradlab.specs import Picture
from gradlab.tasks.generative import Generative
from gradlab.tasks.generative.quality import MOST
from gradlab.training.features import judge_of, prepare_judge


@pytest.fixture(scope="module")
def digits():
    return load(sources.resolve(Part("digits", {"limit": 200}), "data"))


def test_two_runs_on_the_same_data_have_the_same_features_which_tell_classes(digits):
    task = Generative(digits.targets)
    state = torch.get_rng_state()
    first, second = (judge_of(task, digits.train) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first.training, second.training)
    assert first.kind == "classifier"
    # The nearest training example, by features, has the class of most test examples.
    nearest = torch.cdist(first.features(digits.test.inputs), first.training).argmin(1)
    assert (digits.train.targets[nearest] == digits.test.targets).float().mean() > 0.85


def test_what_a_run_keeps_gives_the_same_features(digits, tmp_path):
    task = Generative(digits.targets)
    prepare_judge(task, digits.train, tmp_path / "features")
    read = read_judge(tmp_path / "features", Picture(1, 8, 8), MOST)
    some = digits.test.inputs[:20]
    assert torch.equal(read.features(some), task.judge.features(some))
    assert torch.equal(read.training, task.judge.training)
    assert read.signatures == task.judge.signatures
    write_judge(task.judge, tmp_path / "features")  # as a run does that was killed there
    with pytest.raises(GradlabError, match="does not fit"):
        read_judge(tmp_path / "features", Picture(1, 16, 16), MOST)
    (tmp_path / "features" / "features.json").write_text("{}")
    with pytest.raises(Damaged):
        read_judge(tmp_path / "features", Picture(1, 8, 8), MOST)
    assert read_judge(tmp_path / "nothing", Picture(1, 8, 8), MOST) is None


def test_other_tasks_and_other_data_have_no_judge(tmp_path):
    task = Generative(load(sources.resolve(Part("moons"), "data")).targets)
    prepare_judge(task, Examples.by_name({"points": torch.zeros(5, 2)}), tmp_path / "features")
    assert task.judge is None
    prepare_judge(nn.Identity(), None, tmp_path / "features")
    assert not (tmp_path / "features").exists()
