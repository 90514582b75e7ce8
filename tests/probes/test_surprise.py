import math

import pytest
import torch
import torch.nn.functional as F

from gradlab.models.ngram import NGram
from gradlab.probes import feature_maps, record, surprises


def test_the_bits_are_the_cross_entropy_of_each_token():
    logits, tokens = torch.randn(6, 9), torch.randint(9, (6,))
    found, after = surprises(logits, tokens, str, top=3)
    wanted = F.cross_entropy(logits[:-1], tokens[1:], reduction="none") / math.log(2)
    assert [t.bits for t in found[1:]] == pytest.approx(wanted.tolist(), rel=1e-5)
    assert found[0].bits is None
    probabilities = logits.softmax(-1)
    entropies = torch.distributions.Categorical(probabilities).entropy() / math.log(2)
    assert [t.entropy for t in found[1:]] == pytest.approx(entropies[:-1].tolist(), rel=1e-5)
    assert [int(name) for name, _ in after] == logits[-1].topk(3).indices.tolist()
    assert [p for _, p in found[2].expected] == pytest.approx(probabilities[1].topk(3).values.tolist(), rel=1e-5)


def test_counted_ngrams_have_surprise_and_no_layers():
    tokens = torch.tensor([0, 1, 2] * 30)
    model = NGram(3, order=2).fit(tokens)
    seen = record(model, tokens[None, :9], loss=torch.sum)
    found, after = surprises(seen.output[0], tokens[:9], str)
    assert max(t.bits for t in found[1:]) < 0.2
    assert after[0][0] == "0"
    assert all(gradient is None for call in seen.calls for gradient in call.gradients)


def test_feature_maps_are_the_outputs_of_convolutions():
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 3))
    x = torch.rand(3, 1, 8, 8)
    first, second = feature_maps(record(model, x))
    torch.testing.assert_close(first.maps, model[0](x)[0].detach())
    torch.testing.assert_close(first.filters, model[0].weight.detach())
    assert second.maps.shape == (2, 4, 4)
