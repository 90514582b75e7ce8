"""A builder's first annotation is what its model takes; all else is refused in one sentence."""

import pytest
import torch
from torch import nn

from gradlab.errors import GradlabError
from gradlab.models import build_model, building, models
from gradlab.models.building import taken
from gradlab.registry import Part
from gradlab.specs import Array, Discrete, Environment, Graph, Picture, Series, Spec, Table, Tokens

INPUTS = [Table(13), Picture(3, 32, 32), Array((2, 5)), Series(9, 2), Tokens(8, 11)]


def accepts_all(inputs, outputs):
    """Takes whatever there is."""
    return nn.Linear(1, outputs)


def takes_two(inputs: "Tokens | Graph", outputs: int) -> nn.Module:
    """Takes texts and graphs."""
    return nn.Linear(1, outputs)


def takes_a_shape(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Says nothing of specs."""
    return nn.Linear(1, outputs)


@pytest.mark.parametrize("name", models.names())
@pytest.mark.parametrize("inputs", INPUTS, ids=str)
def test_a_model_is_built_for_the_inputs_that_its_builder_names_and_no_others(name, inputs):
    assert taken(name) != (Spec,)
    if isinstance(inputs, taken(name)):
        assert isinstance(build_model(Part(name), inputs, 11), nn.Module)
    else:
        with pytest.raises(GradlabError, match=rf"^model={name} takes .*, but the inputs are {inputs}\. Take another"):
            build_model(Part(name), inputs, 11)


def test_the_error_says_what_the_model_takes_what_the_data_are_and_what_would_do():
    with pytest.raises(GradlabError) as caught:
        build_model(Part("lenet"), Table(13), 3, data="wine")
    assert str(caught.value) == (
        "model=lenet takes pictures, but data=wine are tables of 13 columns. "
        "Take another model, such as encoder-classifier, highway, linear, mlp, softmax."
    )
    with pytest.raises(GradlabError, match=r"observations of 4 numbers\. Take another model, such as actor-critic, "):
        build_model(Part("mlp"), Environment(Table(4), Discrete(2)), 2)


def test_a_builder_that_does_not_say_takes_anything(monkeypatch):
    for builder in (accepts_all, takes_a_shape):
        monkeypatch.setitem(models._things, "own", builder)
        assert taken("own") == (Spec,)
        assert all(build_model(Part("own"), inputs, 2).out_features == 2 for inputs in INPUTS)


def test_a_builder_may_name_several_kinds(monkeypatch):
    monkeypatch.setitem(models._things, "own", takes_two)
    assert taken("own") == (Tokens, Graph)
    assert build_model(Part("own"), Graph(3), 2).out_features == 2
    with pytest.raises(GradlabError, match="model=own takes texts or graphs, but the inputs are tables of 4 columns"):
        build_model(Part("own"), Table(4), 2)


def test_knobs_are_checked_first_and_named_by_where_they_stand():
    with pytest.raises(GradlabError, match=r"^Classifier\.hidden=0 is not valid"):
        build_model(Part("mlp", {"hidden": "0"}), Tokens(8, 11), 2, where="Classifier")


def test_a_model_that_torch_cannot_make_is_told():
    with pytest.raises(GradlabError, match=r"^The model mlp cannot be made: "):
        build_model(Part("mlp", {"hidden": [2**31, 2**31]}), Table(2**31), 2)


@pytest.mark.parametrize(
    ("name", "values", "inputs"),
    [
        ("mlp", {"hidden": [10**12]}, Table(4)),
        ("mlp", {"hidden": [10**9, 10**9]}, Table(4)),  # of which the first layer alone would fit
        ("linear", {"degree": 2**40}, Table(4)),
        ("gpt", {"dim": 2**20}, Tokens(8, 11)),
        ("bert", {"dim": 2**20}, Tokens(8, 11)),
        ("rnn", {"hidden": 2**20}, Tokens(8, 11)),
        ("text-bag", {"dim": 2**40}, Tokens(8, 11)),
    ],
)
def test_a_model_beyond_the_memory_is_refused_before_it_is_built(name, values, inputs):
    with pytest.raises(GradlabError, match=rf"^The model {name} does not fit into memory: its .+ weights take .+ are"):
        build_model(Part(name, values), inputs, 3)


@pytest.mark.parametrize("name", ["gpt", "llama", "bert-classifier", "rnn", "rnn-classifier", "text-bag"])
def test_what_a_model_takes_is_counted_to_the_byte_and_draws_nothing(name):
    part, state = models.resolve(Part(name), "model"), torch.get_rng_state()
    counted = building._bytes_of(part, Tokens(8, 11), 3)
    assert torch.equal(torch.get_rng_state(), state)
    model = models.build(part, Tokens(8, 11), 3)
    assert counted == sum(tensor.nbytes for tensor in [*model.parameters(), *model.buffers()])


@pytest.mark.parametrize("value", ["10" * 20, 2**63, "1" * 5000])
def test_a_number_beyond_the_types_is_refused(value):
    with pytest.raises(GradlabError, match=r"^model\.hidden=.{1,80} is not valid: "):
        build_model(Part("mlp", {"hidden": [value]}), Table(4), 3)
