"""A cache that reads by itself gives what the model gives."""

import itertools

import pytest
import torch
from torch.nn.utils import parametrize

from gradlab.models.language import TransformerLanguageModel
from gradlab.models.language.decoding import DecodingCache
from gradlab.nn import MLP
from gradlab.sampling import generate

SETTINGS = [
    *({"position": position} for position in ("none", "learned", "sinusoidal", "rotary", "alibi", "relative")),
    *(
        {"norm": norm, "norm_first": first, "gated": gated, "bias": bias, "tied": not bias}
        for norm, first, gated, bias in itertools.product(("layer", "rms"), *3 * [(True, False)])
    ),
    *({"key_heads": 1, "head_dim": 6, "position": position} for position in ("none", "rotary", "alibi")),
    {"key_heads": 1, "attention": "linear"},
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


PARTS = [
    "",
    "embedding",
    "dropout",
    "layers.0",
    "layers.0.attention",
    "layers.0.attention.attention",
    "layers.0.attention.out_proj",
    "layers.0.norm1",
    "layers.1.dropout",
    "layers.1.mlp",
    "layers.1.mlp.dropout",
    "layers.1.mlp.linear2",
    "norm",
]


def check_reading(model: TransformerLanguageModel) -> None:
    tokens = torch.randint(11, (1, 6))
    cache = model.new_cache(1, 6)
    read = [cache.read(part, last=part.shape[1]) for part in tokens.split([4, 1, 1], 1)]
    torch.testing.assert_close(torch.cat(read, 1), model(tokens))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("path", PARTS)
def test_a_hook_is_called(path, norm_first):
    model, calls = made(norm_first=norm_first), []
    model.get_submodule(path).register_forward_hook(lambda *call: calls.append(path) or 2 * call[-1])
    check_reading(model)
    assert len(calls) == 4 * (1 + (path == "layers.1.dropout"))  # which stands in two places


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("path", [path for path in PARTS if "." in path])
def test_what_a_hook_keeps_stays_as_it_was(path, norm_first):
    model, tokens, kept = made(norm_first=norm_first), torch.randint(11, (1, 6)), []
    model.get_submodule(path).register_forward_hook(lambda module, inputs, output: kept.append((*inputs, output)))
    model.new_cache(1, 6).read(tokens, last=6)
    model(tokens)
    half = len(kept) // 2
    torch.testing.assert_close(kept[:half], kept[half:])


@pytest.mark.parametrize("path", PARTS)
def test_a_hook_before_a_module_is_called(path):
    model, calls = made(), []
    model.get_submodule(path).register_forward_pre_hook(lambda *call: calls.append(path))
    check_reading(model)
    assert len(calls) == 4 * (1 + (path == "layers.1.dropout"))


def test_a_hook_on_all_modules_is_called():
    model, tokens, calls = made(), torch.randint(11, (1, 6)), []
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *call: calls.append(type(call[0])))
    try:
        model.new_cache(1, 6).read(tokens, last=6)
        assert TransformerLanguageModel in calls
    finally:
        handle.remove()


@pytest.mark.parametrize("path", [path for path in PARTS if path])
def test_a_subclass_is_called(path):
    model = made()
    part = model.get_submodule(path)
    kind = type(part)
    part.__class__ = type("Doubled", (kind,), {"forward": lambda self, *a, **k: 2 * kind.forward(self, *a, **k)})
    check_reading(model)


@pytest.mark.parametrize("path", PARTS)
def test_a_forward_that_is_replaced_is_called(path):
    model = made()
    part = model.get_submodule(path)
    forward = part.forward
    part.forward = lambda *a, **k: 2 * forward(*a, **k)
    check_reading(model)


def test_a_class_whose_forward_is_replaced_is_called(monkeypatch):
    forward = MLP.forward
    monkeypatch.setattr(MLP, "forward", lambda self, x: 2 * forward(self, x))
    check_reading(made())


def test_a_subclass_of_the_model_is_called():
    class Doubled(TransformerLanguageModel):
        def forward(self, tokens, *, cache=None):
            return 2 * super().forward(tokens, cache=cache)

    model = Doubled(11, 16, dim=16, layers=2, heads=2).double().eval()
    check_reading(model)
    assert model.new_cache(1, 6).read(torch.randint(11, (1, 6)), last=2).shape == (1, 2, 11)


@pytest.mark.parametrize(
    ("path", "weight"),
    [
        ("embedding", "weight"),
        ("layers.0.attention", "in_proj_weight"),
        ("layers.0.attention.out_proj", "weight"),
        ("layers.1.norm2", "bias"),
        ("layers.1.mlp.linear1", "weight"),
        ("head", "weight"),
    ],
)
def test_a_parametrisation_is_computed(path, weight):
    class Halved(torch.nn.Module):
        def forward(self, value):
            return value / 2

    model = made(tied=False)
    parametrize.register_parametrization(model.get_submodule(path), weight, Halved())
    check_reading(model)


@pytest.mark.parametrize("settings", [{}, {"norm": "rms", "gated": True, "position": "rotary"}], ids=str)
def test_a_token_calls_no_module_of_a_plain_model(settings, monkeypatch):
    cache, call, calls = made(**settings).new_cache(1, 4), torch.nn.Module.__call__, []
    monkeypatch.setattr(torch.nn.Module, "__call__", lambda *a, **k: calls.append(a[0]) or call(*a, **k))
    cache.read(torch.randint(11, (1, 1)), last=1)
    assert not calls


def test_generation_uses_it(monkeypatch):
    calls, read = [], DecodingCache.read
    monkeypatch.setattr(DecodingCache, "read", lambda self, *a, **k: calls.append(1) or read(self, *a, **k))
    generate(made(), torch.randint(11, (1, 3)), 4)
    assert len(calls) == 4


@pytest.mark.parametrize("position", ["rotary", "alibi", "none"])
@pytest.mark.parametrize("reordered", [False, True])
def test_steps_of_a_device_read_what_the_model_reads_also_of_grouped_queries(position, reordered):
    model, tokens = made(key_heads=1, head_dim=6, position=position), torch.randint(11, (3, 10))
    cache = model.new_cache(3, 10)
    cache.read(tokens[:, :4], last=1)
    cache.hold(reordered=reordered)
    rows = torch.tensor([2, 0, 0]) if reordered else torch.arange(3)
    if reordered:
        cache.reorder(rows)
    read = []
    for i in range(4, 10):
        read.append(cache.step(tokens[rows, i : i + 1]))
        cache.moved()
    torch.testing.assert_close(torch.cat(read, 1), model(tokens[rows])[:, 4:])
