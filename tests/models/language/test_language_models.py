import math

import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.sampling import generate

SHAPES = {
    "gpt-2": {},
    "llama": {"position": "rotary", "norm": "rms", "gated": True, "bias": False, "tied": False},
    "alibi": {"position": "alibi"},
    "relative": {"position": "relative"},
    "sinusoidal": {"position": "sinusoidal"},
    "post-norm": {"norm_first": False},
    "linear": {"attention": "linear", "position": "rotary"},
    "performer": {"attention": "performer", "position": "none"},
}


def transformer(name, **options):
    torch.manual_seed(0)
    sizes = {"dim": 16, "layers": 2, "heads": 2}
    model = TransformerLanguageModel(11, 12, **(sizes | SHAPES[name] | options)).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def recurrent(cell, **options):
    torch.manual_seed(0)
    return RecurrentLanguageModel(11, dim=8, layers=2, cell=cell, **options).double().eval()


ALL = {**{name: lambda name=name: transformer(name) for name in SHAPES}}
ALL |= {cell: lambda cell=cell: recurrent(cell) for cell in ("rnn", "lstm", "gru")}
TOKENS = torch.randint(11, (3, 9), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", ALL)
def test_reading_with_a_cache_gives_the_same_logits(name):
    model = ALL[name]()
    with torch.no_grad():
        cache = model.new_cache(batch=3, max_length=12)
        parts = [model(part, cache=cache) for part in TOKENS.split([4, 1, 3, 1], 1)]
        assert cache.length == 9
        assert_close(torch.cat(parts, 1), model(TOKENS))


@pytest.mark.parametrize("name", ALL)
def test_no_logit_depends_on_a_later_token(name):
    model, other = ALL[name](), TOKENS.clone()
    other[:, 5:] = (other[:, 5:] + 1) % 11
    assert_close(model(other)[:, :5], model(TOKENS)[:, :5])
    assert not torch.allclose(model(other)[:, 5:], model(TOKENS)[:, 5:])


@pytest.mark.parametrize("name", ALL)
def test_greedy_and_beams_are_the_same_with_and_without_the_cache(name):
    model = ALL[name]()
    for options in ({}, {"beam": 3}):
        cached = generate(model, TOKENS[:, :3], 6, **options)
        plain = generate(lambda tokens: model(tokens), TOKENS[:, :3], 6, **options)
        assert torch.equal(cached, plain)


def test_a_fresh_transformer_knows_nothing():
    torch.manual_seed(0)
    model = TransformerLanguageModel(50, 16, dim=32, layers=3, heads=4)
    tokens = torch.randint(50, (8, 17))
    loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    assert loss.item() == pytest.approx(math.log(50), abs=0.1)


def test_tied_weights_are_one_parameter():
    tied, apart = transformer("gpt-2"), transformer("gpt-2", tied=False)
    count = [sum(p.numel() for p in model.parameters()) for model in (tied, apart)]
    assert count[1] - count[0] == 11 * 16


def test_scores_that_linear_attention_has_not_cannot_be_biased():
    with pytest.raises(GradlabError, match=r"model\.position=alibi is added to scores, which linear attention has not"):
        transformer("alibi", attention="linear")


def test_tied_recurrent_weights_need_one_width():
    with pytest.raises(GradlabError, match=r"model.tied=true needs model.hidden \(4\) to be model.dim \(8\)"):
        recurrent("lstm", tied=True, hidden=4)


def test_an_lstm_first_remembers():
    for layer in RecurrentLanguageModel(11, dim=8, layers=2, cell="lstm").layers:
        inward, forget, cell, outward = layer.bias_ih_l0.chunk(4)
        assert torch.equal(forget, torch.ones(8))
        assert all(part.abs().max() < 8**-0.5 for part in (inward, cell, outward))
