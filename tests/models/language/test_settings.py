"""An architecture's settings are stated once: its builders show some of them, and all reach the model."""

from dataclasses import fields

import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.models import (
    RecurrentClassifier,
    RecurrentLanguageModel,
    TransformerEncoder,
    TransformerLanguageModel,
    models,
)
from gradlab.models.language.encoder import EncoderSettings
from gradlab.models.language.recurrent import RecurrentSettings
from gradlab.models.language.recurrent_classifier import RecurrentClassifierSettings
from gradlab.models.language.transformer import DecoderSettings
from gradlab.nn.attention.multihead import attentions
from gradlab.registry import Part
from gradlab.specs import Tokens

SIZES = ["layers", "heads", "dim", "hidden", "dropout"]
VISIBLE = {
    "gpt": [*SIZES, "key_heads", "attention", "position", "norm", "norm_first", "gated", "tied", "bias", "activation"],
    "gpt2": SIZES,
    "llama": [*SIZES, "key_heads", "tied"],
    "bert": [*SIZES, "norm", "norm_first", "activation"],
    "bert-classifier": [*SIZES, "norm", "norm_first", "activation", "pooling"],
    "rnn": ["cell", "layers", "dim", "hidden", "dropout", "tied"],
    "rnn-classifier": ["cell", "layers", "dim", "hidden", "dropout", "bidirectional", "pooling"],
}
OTHER = {
    "layers": 3,
    "heads": 2,
    "key_heads": 2,
    "dim": 16,
    "hidden": 20,
    "dropout": 0.25,
    "cell": "gru",
    "pooling": "mean",
    "attention": "linear",
    "position": "rotary",
    "norm": "rms",
    "activation": Part("relu"),
}
SETTINGS = {
    "gpt": DecoderSettings,
    "rnn": RecurrentSettings,
    "rnn-classifier": RecurrentClassifierSettings,
    "bert": EncoderSettings,
}


KNOBS = [(name, knob) for name, knobs in VISIBLE.items() for knob in knobs]
KNOBS.remove(("bert-classifier", "pooling"))  # which is of the classifier, and not of its encoder


def settings_of(model):
    return getattr(model, "encoder", model).settings


@pytest.mark.parametrize("name", VISIBLE)
def test_a_recipe_may_set_these_and_no_others(name):
    assert list(models.schema(name).knobs) == VISIBLE[name]


@pytest.mark.parametrize(("name", "knob"), KNOBS)
def test_every_knob_reaches_the_model_and_changes_nothing_else(name, knob):
    default = models.schema(name).knobs[knob].default
    other = (not default) if isinstance(default, bool) else OTHER[knob]
    plain, changed = (
        vars(settings_of(models.build(models.resolve(Part(name, values), "model"), Tokens(8, 11), 11)))
        for values in ({}, {knob: other})
    )
    assert plain[knob] == default != other
    assert changed == {**plain, knob: other}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_builder_and_its_model_have_the_same_defaults(name):
    defaults = {field.name: field.default for field in fields(SETTINGS[name])}
    assert {knob.name: knob.default for knob in models.schema(name).knobs.values()}.items() <= defaults.items()
    assert vars(settings_of(models.build(Part(name), Tokens(8, 11), 11))) == defaults


@pytest.mark.parametrize(
    "make",
    [
        TransformerLanguageModel,
        TransformerEncoder,
        RecurrentClassifier,
        lambda *sizes, **own: RecurrentLanguageModel(11, **own),
    ],
)
def test_a_keyword_that_is_no_setting_is_refused(make):
    with pytest.raises(GradlabError, match=r"no key in model, 'layer'. Did you mean 'layers'"):
        make(11, 8, layer=2)
    with pytest.raises(GradlabError, match=r"model.layers=0 is not valid"):
        make(11, 8, layers=0)
    with pytest.raises(GradlabError, match=r"model.layers=2147483648 is not valid: Input should be less than or equal"):
        make(11, 8, layers=2**31)


@pytest.mark.parametrize("name", attentions.names())
def test_a_decoder_takes_every_attention_by_name(name):
    torch.manual_seed(0)
    model = TransformerLanguageModel(11, 8, dim=8, heads=2, layers=1, attention=name).eval()
    tokens = torch.tensor([[1, 2, 3, 4, 5]])
    changed = tokens.clone()
    changed[0, -1] = 6
    with torch.no_grad():
        assert torch.equal(model(tokens)[:, :-1], model(changed)[:, :-1])  # no token sees a later one
        cache = model.new_cache(1, 8)
        steps = torch.cat([cache.read(tokens[:, i : i + 1], 1) for i in range(5)], 1)
        assert torch.allclose(steps, model(tokens), atol=1e-4)


def test_the_name_of_attention_in_earlier_versions_is_still_read():
    assert TransformerLanguageModel(11, 8, attention="softmax").settings.attention == "scaled_dot"


@pytest.mark.parametrize("position", ["alibi", "relative"])
def test_a_position_that_is_added_to_scores_needs_an_attention_that_takes_it(position):
    TransformerLanguageModel(11, 8, dim=8, attention="dot", position=position)
    with pytest.raises(GradlabError, match=f"model.position={position} is added to scores, which gaussian attention"):
        TransformerLanguageModel(11, 8, dim=8, attention="gaussian", position=position)
