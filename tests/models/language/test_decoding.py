"""A cache that reads by itself gives what the model gives."""

import itertools

import pytest
import torch

from gradlab.models.language import TransformerLanguageModel
from gradlab.models.language.decoding import Decoding
from gradlab.sampling import generate

SETTINGS = [
    *({"position": position} for position in ("none", "learned", "sinusoidal", "rotary", "alibi", "relative")),
    *(
        {"norm": norm, "norm_first": first, "gated": gated, "bias": bias, "tied": not bias}
        for norm, first, gated, bias in itertools.product(("layer", "rms"), *3 * [(True, False)])
    ),
    {"attention": "linear"},
    {"attention": "performer", "position": "none"},
]


def made(**settings: object) -> TransformerLanguageModel:
    torch.manual_seed(0)
    model = TransformerLanguageModel(11, 16, dim=16, layers=2, heads=2, dropout=0.2, **settings).double()  # type: ignore[arg-type]
    for parameter in model.parameters():  # also biases and gains, which are 0 and 1 in a fresh model
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_reads_what_the_model_reads(settings):
    model, tokens = made(**settings), torch.randint(11, (3, 12))
    whole = model(tokens)
    cache = model.new_cache(3, 12)
    read = [cache.read(part, last=part.shape[1]) for part in tokens.split([5, 1, 1, 3, 2], 1)]
    torch.testing.assert_close(torch.cat(read, 1), whole)
    assert cache.length == 12


def test_only_the_logits_that_are_asked_for_are_computed():
    model, tokens = made(), torch.randint(11, (2, 9))
    torch.testing.assert_close(model.new_cache(2, 9).read(tokens, last=2), model(tokens)[:, -2:])


def test_rows_can_change_places_and_the_end_be_forgotten():
    model, tokens = made(position="rotary"), torch.randint(11, (2, 8))
    cache = model.new_cache(2, 8)
    cache.read(tokens[:, :6], last=1)
    cache.truncate(4)
    rows = torch.tensor([1, 0, 1])
    cache.reorder(rows)
    torch.testing.assert_close(cache.read(tokens[rows, 4:5], last=1), model(tokens[rows, :5])[:, -1:])


def test_it_has_the_weights_of_the_model_as_they_are():
    model, tokens = made(), torch.randint(11, (1, 4))
    cache = model.new_cache(1, 4)
    with torch.no_grad():
        model.layers[0].mlp.linear1.weight.mul_(2)
        model.norm.bias.add_(1)
    torch.testing.assert_close(cache.read(tokens, last=4), model(tokens))


def test_no_gradient_passes():
    assert not made().new_cache(1, 4).read(torch.randint(11, (1, 4)), last=4).requires_grad


@pytest.mark.parametrize(
    "path", ["layers.0.attention", "layers.0.attention.out_proj", "layers.1.mlp", "layers.1.mlp.linear2", "norm"]
)
def test_a_hook_is_called(path):
    model, tokens = made(), torch.randint(11, (1, 4))
    seen = []
    model.get_submodule(path).register_forward_hook(lambda module, inputs, output: seen.append(output) or 2 * output)
    torch.testing.assert_close(model.new_cache(1, 4).read(tokens, last=4), model(tokens))
    assert len(seen) == 2


def test_a_part_of_another_make_is_called():
    class Doubled(torch.nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    model, tokens = made(), torch.randint(11, (1, 4))
    model.layers[0].mlp.linear1 = Doubled(16, 64).double()
    torch.testing.assert_close(model.new_cache(1, 4).read(tokens, last=4), model(tokens))


def test_generation_uses_it(monkeypatch):
    calls, read = [], Decoding.read
    monkeypatch.setattr(Decoding, "read", lambda self, *a, **k: calls.append(1) or read(self, *a, **k))
    generate(made(), torch.randint(11, (1, 3)), 4)
    assert len(calls) == 4
