import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gradlab.sampling.choice import draw, greedy, uniforms


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0, 1, exclude_max=True))
def test_drawing_is_the_inverse_of_the_cumulative_distribution(weights, u):
    if sum(weights) < 1e-3:
        weights[0] = 1.0
    p = torch.tensor([weights], dtype=torch.float64)
    p = p / p.sum()
    chosen, sound = draw(p.log(), torch.tensor([[u]], dtype=torch.float64))
    upto = p[0].cumsum(0)
    want = next((i for i in range(len(weights)) if upto[i] > u + 1e-9), None)
    near = any(abs(float(edge) - u) < 1e-9 for edge in [0.0, *upto])
    assert near or int(chosen) == want
    assert p[0, int(chosen)] > 0
    assert float(sound) == pytest.approx(1)


@pytest.mark.parametrize("u", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_at_the_edges_no_token_without_probability_is_drawn(u, dtype):
    for _ in range(50):
        logits = torch.randn(1, 300, dtype=torch.float32).masked_fill(torch.rand(1, 300) < 0.7, -math.inf).to(dtype)
        logits[0, [0, -1]] = -math.inf
        chosen, _ = draw(logits, torch.tensor([[u]], dtype=torch.float64))
        assert logits[0, int(chosen)] > -math.inf


def test_tokens_come_as_often_as_their_probability_says():
    p = torch.tensor([0.5, 0.2, 0.0, 0.25, 0.05])
    chosen, _ = draw(p.log().expand(20000, -1), uniforms(0, 1, 20000).T.contiguous())
    counts = torch.bincount(chosen, minlength=5)
    assert counts[2] == 0
    seen = p > 0
    # By chance alone it would be lower once in 10,000 seeds.
    assert stats.chisquare(counts[seen], 20000 * p[seen].double()).pvalue > 1e-4


def test_greedy_takes_the_largest():
    x = torch.randn(7, 30)
    assert torch.equal(greedy(x)[0], x.argmax(-1))


def test_numbers_depend_on_seed_and_row_alone():
    many = uniforms(5, rows=40, count=100)
    assert torch.equal(uniforms(5, 3, 7), many[:3, :7])
    assert torch.equal(uniforms([8, 9], 2, 7)[1:], uniforms([9], 1, 7))
    assert len({tuple(row) for row in torch.cat([many, uniforms(6, 40, 100)]).tolist()}) == 80
    assert stats.kstest(many.flatten(), "uniform").pvalue > 1e-4
    assert abs(torch.corrcoef(many)[~torch.eye(40, dtype=bool)]).max() < 0.5


def test_a_generator_gives_the_seed_and_moves_on():
    generator = torch.Generator().manual_seed(3)
    first, second = uniforms(generator, 2, 5), uniforms(generator, 2, 5)
    assert not torch.equal(first, second)
    assert torch.equal(uniforms(torch.Generator().manual_seed(3), 2, 5), first)
    torch.manual_seed(1)
    by_default = uniforms(None, 2, 5)
    torch.manual_seed(1)
    assert torch.equal(uniforms(None, 2, 5), by_default)
