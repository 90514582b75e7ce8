from dataclasses import asdict, replace

import pytest
import torch
from torch.testing import assert_close

from gradlab.models import TransformerLanguageModel, models
from gradlab.registry import Part
from gradlab.specs import Tokens

SIZES = {"dim": 16, "layers": 2, "heads": 2}


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("gpt2", {}),
        ("llama", {"position": "rotary", "norm": "rms", "gated": True, "bias": False, "tied": False}),
    ],
)
def test_they_are_settings_of_the_one_decoder(name, knobs):
    built = [
        models.build(models.resolve(Part(kind, {**SIZES, **own}), "model"), Tokens(8, 11), 11)
        for kind, own in ((name, {}), ("gpt", knobs))
    ]
    approximate = "tanh" if name == "gpt2" else "none"
    assert built[0].settings == replace(built[1].settings, approximate=approximate)
    assert built[0].state_dict().keys() == built[1].state_dict().keys()


def test_settings_build_the_same_model_again():
    other = {"hidden": 20, "position": "rotary", "norm": "rms", "gated": True, "tied": False, "bias": False, "eps": 0.1}
    made = TransformerLanguageModel(11, 8, **SIZES, **other, rotary_base=50.0, dropout=0.1)
    again = TransformerLanguageModel(made.vocabulary, made.context, **asdict(made.settings))
    again.load_state_dict(made.state_dict())
    tokens = torch.arange(8)[None]
    assert_close(again.eval()(tokens), made.eval()(tokens))
    assert str(again) == str(made)
