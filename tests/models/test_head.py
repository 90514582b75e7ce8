"""The head of every model, against what of it depends on the number of outputs."""

import pytest
import torch
from torch import nn

from gradlab import specs
from gradlab.models import build_model, models
from gradlab.models.building import taken
from gradlab.models.head import head_of
from gradlab.registry import Part

SMALL = {
    "bert-classifier": {"dim": 16, "heads": 2, "layers": 1},
    "vit": {"dim": 16, "heads": 2, "layers": 1},
    "series-rnn": {"hidden": 8, "shortcut": True},
    "series-transformer": {"dim": 16, "heads": 2, "layers": 1, "shortcut": True},
    "densenet": {"growth": 4, "layers": [2, 2]},
    **{name: {"width": 4} for name in ("resnet18", "resnet34", "resnet50", "resnext50", "resnet56")},
}
# An output for each token, whatever is asked for.
LANGUAGE = {"bert", "gpt", "gpt2", "llama", "ngram", "rnn", *(name for name in models if taken(name) == (specs.Pair,))}
INPUTS = {
    specs.Table: specs.Table(6),
    specs.Picture: specs.Picture(3, 32, 32),
    specs.Series: specs.Series(9, 2),
    specs.Tokens: specs.Tokens(8, 12),
    specs.Graph: specs.Graph(6),
}


def built(name, outputs, inputs=None):
    kinds = taken(name)
    inputs = inputs or next(spec for kind, spec in INPUTS.items() if any(issubclass(kind, k) for k in kinds))
    return build_model(Part(name, SMALL.get(name, {})), inputs, outputs)


def of_the_outputs(name, inputs=None):
    """Parameters whose shape depends on the number of outputs."""
    few, more = (dict(built(name, outputs, inputs).named_parameters()) for outputs in (3, 5))
    assert few.keys() == more.keys()
    return {n for n in few if few[n].shape != more[n].shape}


PAIRS = {name for name in models if taken(name) == (specs.Pair,)}  # likewise
# Examples again, or what they are drawn from: no outputs that a task asks for.
GENERATIVE = {name for name in models if models[name].__module__.startswith("gradlab.models.generative.")}
ACTING = {name for name in models if taken(name) == (specs.Environment,)}  # outputs are those of the environment
WITHOUT_GRADIENTS = {"support-vector-classifier", "support-vector-regressor"}  # all they learn lies in buffers


@pytest.mark.parametrize("name", sorted(set(models) - LANGUAGE - PAIRS - GENERATIVE - ACTING - WITHOUT_GRADIENTS))
def test_the_head_is_what_depends_on_the_number_of_outputs(name):
    model = built(name, 3)
    head = head_of(model)
    assert {f"{head}.{n}" for n, _ in model.get_submodule(head).named_parameters()} == of_the_outputs(name) != set()


def test_a_table_with_many_categories_has_the_head_of_its_model():
    inputs = specs.Table(4, (300, 200))
    model = built("mlp", 3, inputs)
    assert isinstance(model[0], nn.Module)
    assert {f"{head_of(model)}.weight", f"{head_of(model)}.bias"} == of_the_outputs("mlp", inputs)


def test_a_model_with_tied_embeddings_has_none():
    tied = build_model(Part("gpt", {"dim": 16, "heads": 2, "layers": 1, "tied": True}), INPUTS[specs.Tokens], 0)
    assert head_of(tied) is None


def test_it_is_the_module_of_that_name_wherever_it_was_declared():
    class Backwards(nn.Module):
        def __init__(self):
            super().__init__()
            self.head, self.body = nn.Linear(4, 3), nn.Linear(4, 4)
            self.token = nn.Parameter(torch.zeros(1, 4))

    assert head_of(Backwards()) == "head"
    assert head_of(nn.Sequential(Backwards())) == "0.head"
    assert head_of(nn.Embedding(3, 4)) is None
