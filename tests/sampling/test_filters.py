import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.sampling import MinP, RepetitionPenalty, SamplingContext, Temperature, TopK, TopP

# No two so close that rounding decides which is larger.
logits = st.lists(st.integers(-8000, 8000), min_size=1, max_size=12, unique=True).map(lambda z: [n / 1000 for n in z])


def softmax(numbers):
    weights = [math.exp(z) for z in numbers]
    return [w / sum(weights) for w in weights]


def without(probabilities, kept):
    whole = sum(p for i, p in enumerate(probabilities) if i in kept)
    return [p / whole if i in kept else 0.0 for i, p in enumerate(probabilities)]


def by_rank(probabilities):
    return sorted(range(len(probabilities)), key=lambda i: -probabilities[i])


def distribution(filtered):
    p = filtered.softmax(-1)
    assert p.sum().item() == pytest.approx(1)
    return p[0].tolist()


def tensor(z):
    return torch.tensor([z], dtype=torch.float64)


@given(logits, st.floats(0.1, 10))
def test_temperature_is_a_power_of_the_probabilities(z, temperature):
    powers = [p ** (1 / temperature) for p in softmax(z)]
    want = [p / sum(powers) for p in powers]
    assert distribution(Temperature(temperature)(tensor(z))) == pytest.approx(want, abs=1e-9)


@given(logits, st.integers(1, 15))
def test_top_k_keeps_the_k_most_probable(z, k):
    p = softmax(z)
    assert distribution(TopK(k)(tensor(z))) == pytest.approx(without(p, by_rank(p)[:k]), abs=1e-9)


@given(logits, st.floats(0.01, 0.99))
def test_top_p_keeps_as_few_as_have_the_probability_together(z, wanted):
    p, kept = softmax(z), []
    ranked = [p[i] for i in by_rank(p)]
    assume(all(abs(sum(ranked[:n]) - wanted) > 1e-9 for n in range(len(p))))
    for i in by_rank(p):
        if sum(p[j] for j in kept) >= wanted:
            break
        kept.append(i)
    assert distribution(TopP(wanted)(tensor(z))) == pytest.approx(without(p, kept), abs=1e-9)


@given(logits, st.floats(0, 1))
def test_min_p_keeps_what_is_not_much_less_probable_than_the_best(z, share):
    p = softmax(z)
    kept = [i for i in range(len(p)) if p[i] >= share * max(p) or p[i] == max(p)]
    assert distribution(MinP(share)(tensor(z))) == pytest.approx(without(p, kept), abs=1e-9)


@given(logits, st.floats(0.2, 5), st.data())
def test_repetition_penalty_pushes_what_was_written_away(z, penalty, data):
    written = data.draw(st.lists(st.integers(0, len(z) - 1), min_size=1, max_size=6))
    want = [(v / penalty if v >= 0 else v * penalty) if i in written else v for i, v in enumerate(z)]
    context = SamplingContext(torch.tensor([written]), prompts=[1])
    assert RepetitionPenalty(penalty)(tensor(z), context)[0].tolist() == pytest.approx(want)


@given(logits)
def test_limits_change_nothing_or_leave_one(z):
    x = tensor(z)
    for nothing in (TopK(len(z)), TopK(len(z) + 3), TopP(1.0), MinP(0.0), Temperature(1.0)):
        assert torch.equal(nothing(x), x)
    best = [float(i == z.index(max(z))) for i in range(len(z))]
    for one in (TopK(1), TopP(1e-9), MinP(1.0)):
        assert distribution(one(x)) == best
    sure = distribution(Temperature(1e-4)(x))
    if len(z) == 1 or sorted(z)[-1] - sorted(z)[-2] > 0.01:
        assert sure == pytest.approx(best, abs=1e-9)


def test_rows_are_filtered_each_by_itself():
    x = torch.randn(5, 40)
    context = SamplingContext(torch.randint(40, (5, 7)), prompts=[3] * 5)
    for change in (Temperature(0.5), TopK(3), TopP(0.6), MinP(0.2), RepetitionPenalty(1.3)):
        rows = [change(x[i : i + 1], SamplingContext(context.tokens[i : i + 1], [3])) for i in range(5)]
        assert_close(change(x, context), torch.cat(rows))
    with_ruled_out = x.masked_fill(torch.rand(5, 40) < 0.5, -math.inf)
    for change in (Temperature(0.5), TopK(3), TopP(0.6), MinP(0.2), RepetitionPenalty(1.3)):
        changed = change(with_ruled_out, context)
        assert (changed[with_ruled_out == -math.inf] == -math.inf).all()
        assert not changed.isnan().any()


def test_ties_with_the_last_of_the_k_stay():
    assert TopK(2)(torch.tensor([[1.0, 0.0, 1.0, 1.0]])).tolist() == [[1.0, -math.inf, 1.0, 1.0]]


@pytest.mark.parametrize("scale", [0.01, 1.0, 4.0])
@pytest.mark.parametrize("p", [0.1, 0.9, 0.999])
def test_top_p_of_a_large_vocabulary_need_not_sort_it(scale, p):
    x = scale * torch.randn(3, 3000, dtype=torch.float64)
    ranked, order = x.softmax(-1).sort(descending=True)
    stays = (ranked.cumsum(-1) - ranked < p).scatter(-1, order, ranked.cumsum(-1) - ranked < p)
    assert torch.equal(TopP(p)(x) > -math.inf, stays)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Temperature(-1.0), r"temperature must be a number above 0 \(0 is greedy decoding\), got -1.0\."),
        (lambda: Temperature(math.nan), "temperature must be a number above 0"),
        (lambda: TopK(0), r"top_k must be a whole number of at least 1, got 0\."),
        (lambda: TopK(2.5), "top_k must be a whole number of at least 1, got 2.5"),
        (lambda: TopP(0.0), r"top_p must be above 0 and at most 1, got 0.0\."),
        (lambda: TopP(1.1), "top_p must be above 0 and at most 1, got 1.1"),
        (lambda: MinP(-0.1), r"min_p must be from 0 to 1, got -0.1\."),
        (lambda: RepetitionPenalty(0.0), r"repetition_penalty must be a number above 0 \(1 is none\), got 0.0\."),
    ],
)
def test_settings_that_mean_nothing_are_told(build, message):
    with pytest.raises(GradlabError, match=message):
        build()
