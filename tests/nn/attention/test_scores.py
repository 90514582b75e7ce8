import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError
from gradlab.nn.attention import (
    AdditiveAttention,
    GeneralAttention,
    ReducedRankAttention,
    attend,
    causal_mask,
    masked_softmax,
)

KINDS = {
    "general": (GeneralAttention, {"query_dim": 3, "key_dim": 5}),
    "reduced_rank": (ReducedRankAttention, {"query_dim": 3, "key_dim": 5, "rank": 2}),
    "additive": (AdditiveAttention, {"query_dim": 3, "key_dim": 5, "hidden_dim": 7}),
}


@pytest.mark.parametrize("name", KINDS)
def test_weights_can_be_looked_at(name):
    kind, settings = KINDS[name]
    attention = kind(**settings)
    q, k, v = torch.randn(2, 4, 3), torch.randn(2, 6, 5), torch.randn(2, 6, 2)
    mask = causal_mask(4, 6)
    weights = attention.weights(q, k, mask)
    assert weights.shape == (2, 4, 6)
    assert not weights[..., ~mask].any()
    assert_close(weights.sum(-1), torch.ones(2, 4))
    assert_close(weights @ v, attention(q, k, v, mask))
    assert_close(attend(attention.score(q, k), v, mask), attention(q, k, v, mask))


@pytest.mark.parametrize("name", KINDS)
def test_scores_of_unit_vectors_begin_moderate(name):
    kind, settings = KINDS[name]
    wide = dict.fromkeys(settings, 64)
    scores = torch.stack([kind(**wide).score(torch.randn(20, 64), torch.randn(20, 64)) for _ in range(20)])
    assert 0.4 < scores.std() < 1.3


@pytest.mark.parametrize("name", KINDS)
def test_nothing_to_look_at_gives_zeros(name):
    kind, settings = KINDS[name]
    assert not kind(**settings)(torch.randn(2, 4, 3), torch.randn(2, 0, 5), torch.randn(2, 0, 2)).any()


@pytest.mark.parametrize("name", KINDS)
def test_wrong_sizes_are_told(name):
    kind, settings = KINDS[name]
    attention, (q, k, v) = kind(**settings), (torch.randn(4, 3), torch.randn(6, 5), torch.randn(6, 2))
    with pytest.raises(
        ShapeError, match=rf"^attention.{name}: keys must have shape \(…batch, m, key_dim=5\), got \(6, 4\)"
    ):
        attention(q, k[:, :4], v)
    for key in settings:
        with pytest.raises(GradlabError, match=f"^attention.{name}: {key} must be int ≥ 1, got 0"):
            kind(**{**settings, key: 0})


def test_a_low_rank_needs_fewer_numbers():
    def count(module):
        return sum(p.numel() for p in module.parameters())

    assert count(GeneralAttention(100, 80)) == 100 * 80
    assert count(ReducedRankAttention(100, 80, rank=4)) == 4 * (100 + 80)


def test_the_weights_of_a_step_of_a_decoder():
    """One query for each of a batch of sequences of several lengths."""
    states, lengths = torch.randn(2, 3, 4), torch.tensor([2, 3])
    seen = (torch.arange(3) < lengths[:, None])[:, None, :]
    context = AdditiveAttention(5, 4, 6)(torch.randn(2, 1, 5), states, states, seen)
    assert context.shape == (2, 1, 4)
    assert_close(masked_softmax(torch.zeros(2, 1, 3), seen)[0, 0], torch.tensor([0.5, 0.5, 0.0]))
