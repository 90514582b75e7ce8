"""An architecture's settings are stated once: its builders show some of them, and all reach the model."""

from dataclasses import asdict, fields

import pytest

from gradlab.models import RecurrentLanguageModel, TransformerEncoder, TransformerLanguageModel, models
from gradlab.models.language.encoder import EncoderSettings
from gradlab.models.language.recurrent import RecurrentSettings
from gradlab.models.language.transformer import DecoderSettings
from gradlab.registry import Part
from gradlab.specs import Tokens

SIZES = ["layers", "heads", "dim", "hidden", "dropout"]
VISIBLE = {
    "gpt": [*SIZES, "attention", "position", "norm", "norm_first", "gated", "tied", "bias"],
    "gpt2": SIZES,
    "llama": [*SIZES, "tied"],
    "bert": [*SIZES, "norm_first"],
    "bert-classifier": [*SIZES, "norm_first", "pooling"],
    "rnn": ["cell", "layers", "dim", "hidden", "dropout", "tied"],
}
OTHER = {
    "layers": 3,
    "heads": 2,
    "dim": 16,
    "hidden": 20,
    "dropout": 0.25,
    "cell": "gru",
    "attention": "linear",
    "position": "rotary",
    "norm": "rms",
}
SETTINGS = {"gpt": DecoderSettings, "rnn": RecurrentSettings, "bert": EncoderSettings}


def settings_of(model):
    return getattr(model, "encoder", model).settings


@pytest.mark.parametrize("name", VISIBLE)
def test_a_recipe_may_set_these_and_no_others(name):
    assert list(models.schema(name).knobs) == VISIBLE[name]


@pytest.mark.parametrize(("name", "knob"), [(n, k) for n, knobs in VISIBLE.items() for k in knobs if k != "pooling"])
def test_every_knob_reaches_the_model_and_changes_nothing_else(name, knob):
    default = models.schema(name).knobs[knob].default
    other = (not default) if isinstance(default, bool) else OTHER[knob]
    plain, changed = (
        asdict(settings_of(models.build(models.resolve(Part(name, values), "model"), Tokens(8, 11), 11)))
        for values in ({}, {knob: other})
    )
    assert plain[knob] == default != other
    assert changed == {**plain, knob: other}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_builder_and_its_model_have_the_same_defaults(name):
    defaults = {field.name: field.default for field in fields(SETTINGS[name])}
    assert {knob.name: knob.default for knob in models.schema(name).knobs.values()}.items() <= defaults.items()
    assert asdict(settings_of(models.build(Part(name), Tokens(8, 11), 11))) == defaults


@pytest.mark.parametrize(
    "make", [TransformerLanguageModel, TransformerEncoder, lambda *sizes, **own: RecurrentLanguageModel(11, **own)]
)
def test_a_keyword_that_is_no_setting_is_refused(make):
    with pytest.raises(TypeError, match="unexpected keyword argument 'layer'"):
        make(11, 8, layer=2)
