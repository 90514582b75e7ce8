"""Recipes on generated sequences: a training that is stopped goes on to the same bits."""

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.recipes import find
from gradlab.run import open_run
from gradlab.training import experiment
from gradlab.training.experiment import Experiment
from gradlab.training.observers import Observer

CPU = torch.device("cpu")
SMALL = {"data.examples": 90, "train.batch_size": 16, "train.epochs": 2, "model.hidden": 8, "train.log_every": 1}
OF = {"copy-seq2seq": {"model.dim": 8, "data.longest": 5}, "recall-rnn": {"model.dim": 8, "data.delay": 5}}


class StopsAtStep3(Observer):
    every = 3

    def step(self, training):
        training.request("stop")


def start(name, out, *observers):
    recipe = find(name).override(SMALL | OF.get(name, {"data.length": 6}))
    return experiment.start(Experiment.of(recipe, CPU), out, observers)


@pytest.mark.parametrize("name", ["copy-seq2seq", "recall-rnn", "adding-rnn"])
def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path, name):
    whole = start(name, tmp_path / "whole")
    with pytest.raises(GradlabError, match="Stopped and saved at step 3"):
        start(name, tmp_path / "stopped", StopsAtStep3())
    resumed = experiment.resume(open_run(tmp_path / "stopped"), CPU, [])
    assert resumed.test == whole.test
    lines = [[{**line, "seconds": 0} for line in run.metrics] for run in (resumed, whole)]
    assert lines[0] == lines[1]
    assert len(lines[0]) > 8
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)
