"""Attention maps: of a copied layer of torch.nn, of every position code, and their figures."""

import math

import pytest
import torch
from torch import nn

from gradlab.models.language import TransformerLanguageModel
from gradlab.nn.attention import AdditiveAttention, MultiheadAttention
from gradlab.nn.transformer import EncoderDecoder
from gradlab.probes import attention_maps, record
from gradlab.probes.attention import head


def gpt(**options):
    return TransformerLanguageModel(vocabulary=11, context=9, dim=16, layers=2, heads=4, **options)


def test_weights_are_those_of_the_same_layer_of_torch():
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    ours = MultiheadAttention(8, 2)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(3, 5, 8)
    _, wanted = theirs(x, x, x, average_attn_weights=False)
    (here,), (there,) = attention_maps(record(ours, x)), attention_maps(record(theirs, (x, x, x)))
    for found in (here, there):
        assert found.weights.shape == (3, 2, 5, 5)
        torch.testing.assert_close(found.weights, wanted, rtol=0, atol=1e-6)
    assert here.itself


@pytest.mark.parametrize("position", ["none", "learned", "sinusoidal", "rotary", "alibi", "relative"])
def test_rows_sum_to_one_and_no_query_looks_ahead(position):
    maps = attention_maps(record(gpt(position=position), torch.randint(11, (2, 7))))
    assert [a.name for a in maps] == ["layers.0.attention", "layers.1.attention"]
    for found in maps:
        assert found.weights.shape == (2, 4, 7, 7)
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(2, 4, 7))
        assert found.weights.triu(1).abs().max() == 0
        assert found.itself


@pytest.mark.parametrize("position", ["rotary", "alibi"])
def test_the_weights_are_those_that_made_the_output(position):
    model, x = gpt(position=position), torch.randint(11, (2, 7))
    seen = record(model, x)
    (first, _) = attention_maps(seen)
    module = model.layers[0].attention
    given = next(call.args[0] for call in seen.calls if call.module is module)
    _, _, v = module._heads(given, given, given)
    pooled = next(call.outputs[0] for call in seen.calls if call.module is module.attention)
    torch.testing.assert_close(first.weights @ v, pooled, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["linear", "performer"])
def test_attention_without_weights_says_so(kind):
    for found in attention_maps(record(gpt(attention=kind), torch.randint(11, (2, 7)))):
        assert found.weights is None
        assert found.heads == []
        assert "never computes" in found.reason


def test_a_mask_and_another_sequence_are_taken_along():
    model = EncoderDecoder(8, 2, 1, 1)
    source, target = torch.randn(2, 6, 8), torch.randn(2, 4, 8)
    mask = torch.arange(6) < torch.tensor([[6], [3]])
    maps = {a.name: a for a in attention_maps(record(model, (source, target, mask)))}
    cross = next(a for a in maps.values() if a.weights.shape[-2:] == (4, 6))
    assert not cross.itself
    assert cross.heads[0].distance is None
    assert cross.weights[1, ..., 3:].abs().max() == 0
    assert cross.weights[0, ..., 3:].min() > 0
    assert sum(a.itself for a in maps.values()) == 2


def test_attention_of_one_head_by_itself():
    attention = AdditiveAttention(3, 3, 4)
    q, k = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    (found,) = attention_maps(record(attention, (q, k, k)))
    torch.testing.assert_close(found.weights[:, 0], attention.weights(q, k))


def test_figures_of_heads_that_are_known():
    n = 8
    even = torch.ones(1, n, n).tril()
    even = head(even / even.sum(-1, keepdim=True), itself=True)
    assert even.entropy == pytest.approx(sum(math.log2(i) for i in range(1, n + 1)) / n)
    assert even.distance == pytest.approx(sum((i - 1) / 2 for i in range(1, n + 1)) / n)
    assert even.first == even.itself == pytest.approx(sum(1 / i for i in range(1, n + 1)) / n)
    back = head(torch.eye(n).roll(-1, 1)[None], itself=True)  # each looks at the one before, the first at the last
    assert (back.entropy, back.previous, back.itself, back.first) == (0, 1, 0, 1 / n)
    assert back.distance == pytest.approx(2 * (n - 1) / n)


def test_queries_that_look_nowhere_do_not_count():
    weights = torch.tensor([[[0.0, 0.0], [0.5, 0.5]]])
    assert head(weights, itself=True).entropy == 1
    assert head(torch.zeros(1, 2, 2), itself=True).entropy == 0


def test_the_last_query_stands_at_the_last_key():
    found = head(torch.tensor([[[0.0, 0.0, 1.0]]]), itself=True)
    assert (found.itself, found.distance) == (1, 0)
