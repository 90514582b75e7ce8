"""Before the first step of a training on long texts nothing takes long."""

import pytest
import torch

from gradlab.recipes import find
from gradlab.tasks import Language
from gradlab.training import experiment
from gradlab.training.experiment import Experiment

SMALL = {"model.dim": 8, "model.layers": 1, "model.heads": 1, "model.attention": "linear"}


class Seen(Exception):
    pass


@pytest.mark.parametrize(("context", "place"), [(4096, "meta"), (128, "cpu")])
def test_a_long_text_is_first_read_where_it_is_trained_on(monkeypatch, context, place):
    def first_pass(recipe, model, task, train):
        assert train.inputs.device.type == next(model.parameters()).device.type == place
        raise Seen

    monkeypatch.setattr(Language, "check", lambda self, model, train: None)  # which looks at numbers
    monkeypatch.setattr(experiment, "_first_pass", first_pass)
    with pytest.raises(Seen):
        Experiment.of(find("pydoc-gpt").override({**SMALL, "data.context": context}), torch.device("meta"))


@pytest.mark.parametrize(("context", "windows"), [(128, 256), (16384, 16)])
def test_a_fresh_model_is_looked_at_on_as_many_tokens_of_long_texts_as_of_short_ones(monkeypatch, context, windows):
    made = Experiment.of(find("pydoc-gpt").override({**SMALL, "data.context": context}), torch.device("cpu"))
    monkeypatch.setattr(experiment, "first_loss", lambda model, task, some: len(some))
    assert made.initial_loss() == min(windows, len(made.splits["train"]))
