import math

import pytest
import torch
from decoding_helpers import (
    MODELS,
    ByPrefix,
    TinyGPT,
    exhaustive,
    log_probability,
    plain_beam,
    plain_greedy,
    without_cache,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.sampling import Beam, RepetitionPenalty, beam_search, generate

STOPS = ["bound", "estimate", "count", "length"]


@st.composite
def beams(draw):
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    size = groups * draw(st.integers(1, 4))
    finished = draw(st.none() | st.integers(1, 6))
    kept = groups * (finished or size // groups)
    return Beam(
        size,
        groups=groups,
        diversity=draw(st.sampled_from([0.3, 1.0, 3.0])) if groups > 1 else 0.0,
        n_best=draw(st.integers(1, kept)),
        finished=finished,
        stop=draw(st.sampled_from(STOPS)),
        length_penalty=draw(st.sampled_from([-0.5, 0.0, 0.7, 1.0, 2.0])),
    )


@settings(max_examples=150)
@given(beams(), st.integers(2, 5), st.integers(1, 5), st.sets(st.integers(0, 4), max_size=2), st.integers(0, 10**6))
def test_the_search_is_the_one_on_lists(beam, vocabulary, longest, eos, seed):
    model = ByPrefix(vocabulary, seed)
    eos = sorted(token for token in eos if token < vocabulary)
    prompts = [[0], [1, 0, 1], [1, 1]]
    found = beam_search(model, prompts, longest, beam, eos=eos, pad=0)
    for i, prompt in enumerate(prompts):
        want = plain_beam(model, prompt, longest, beam, eos)
        count = int((found.scores[i] > -math.inf).sum())
        assert count == len(want)
        assert found.scores[i, :count].tolist() == pytest.approx([score for score, _ in want])
        for j, (_, text) in enumerate(want):
            assert found.lengths[i, j] == len(text)
            written = found.tokens[i, j].tolist()
            assert written == prompt + text + [0] * (len(written) - len(prompt + text))
            assert float(found.log_probabilities[i, j]) == pytest.approx(log_probability(model, prompt, text))


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("eos", [[], [2], [0, 3]])
def test_one_beam_is_greedy(stop, eos):
    for seed in range(20):
        model = ByPrefix(4, seed)
        found = beam_search(model, [[1, 1]], 5, Beam(1, stop=stop), eos=eos)
        assert found.tokens[0, 0, 2 : 2 + found.lengths[0, 0]].tolist() == plain_greedy(model, [1, 1], 5, eos)
    model, tokens = TinyGPT().double(), torch.randint(11, (4, 3))
    assert torch.equal(generate(model, tokens, 8, beam=1, eos=eos), generate(model, tokens, 8, eos=eos))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 1.5, -1.0])
@pytest.mark.parametrize("eos", [[], [2], [0, 2]])
@pytest.mark.parametrize("stop", ["bound", "length"])
def test_a_beam_of_all_prefixes_finds_the_best_of_all_texts(alpha, eos, stop):
    for seed in range(8):
        model = ByPrefix(3, seed)
        ranked = exhaustive(model, [1], 4, eos, alpha)
        beam = Beam(27, n_best=5, length_penalty=alpha, stop=stop)  # 3^(4 - 1)
        found = beam_search(model, [[1]], 4, beam, eos=eos)
        assert found.scores[0].tolist() == pytest.approx([score for score, _ in ranked[:5]])
        texts = [tokens[1 : 1 + n] for tokens, n in zip(found.tokens[0].tolist(), found.lengths[0], strict=True)]
        assert texts == [list(text) for _, text in ranked[:5]]


def test_greedy_misses_the_best_text_and_wider_beams_miss_it_less():
    missed = {}
    for size in (1, 2, 3, 9):
        best = []
        for seed in range(200):
            model = ByPrefix(3, seed)
            found = beam_search(model, [[0]], 3, Beam(size, length_penalty=0.0))
            best.append(found.tokens[0, 0, 1:].tolist() == list(exhaustive(model, [0], 3, alpha=0.0)[0][1]))
        missed[size] = best.count(False)
    assert missed[1] > 20
    assert missed[1] > missed[2] > missed[3] >= missed[9] == 0


def test_the_score_is_the_mean_of_log_probabilities_of_what_follows_the_prompt():
    # E95: the mean is over the tokens after the prompt, each with all before it as its condition.
    model = ByPrefix(4, 3)
    found = beam_search(model, [[1, 2]], 3, 4)
    text = found.tokens[0, 0].tolist()
    steps = [model.log_p(text[:i])[text[i]] for i in range(2, 5)]
    assert float(found.scores) == pytest.approx(sum(steps) / 3)
    assert math.exp(found.scores) == pytest.approx(math.prod(map(math.exp, steps)) ** (1 / 3))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("beam", [Beam(3, n_best=2), Beam(6, groups=2, diversity=0.7, n_best=4)])
def test_cached_searches_equal_uncached_ones(name, beam):
    model, prompts = MODELS[name]().double().eval(), [[1, 2, 3], [4], [5, 6]]
    for eos in (None, 3):
        cached = beam_search(model, prompts, 8, beam, eos=eos)
        uncached = beam_search(without_cache(model), prompts, 8, beam, eos=eos)
        assert torch.equal(cached.tokens, uncached.tokens)
        assert_close(cached.scores, uncached.scores)


def test_examples_are_searched_each_by_itself():
    model, prompts = TinyGPT().double(), [[1, 2, 3], [4], [5, 6], [7, 8, 9, 1, 2]]
    for stop in STOPS:
        beam = Beam(4, n_best=3, stop=stop)
        together = beam_search(model, prompts, 7, beam, eos=[3, 9])
        for i, prompt in enumerate(prompts):
            alone = beam_search(model, [prompt], 7, beam, eos=[3, 9])
            assert_close(together.scores[i], alone.scores[0])
            width = min(together.tokens.shape[2], alone.tokens.shape[2])
            assert torch.equal(together.tokens[i, :, :width], alone.tokens[0, :, :width])


def test_generate_gives_the_texts_of_each_prompt_next_to_each_other():
    model, tokens = TinyGPT().double(), torch.randint(11, (3, 4))
    found = beam_search(model, tokens, 5, Beam(4, n_best=2))
    assert torch.equal(generate(model, tokens, 5, beam=Beam(4, n_best=2)), found.tokens.flatten(0, 1))
    assert torch.equal(generate(model, tokens, 5, beam=4), found.tokens[:, 0])


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.3, 1.0, 3.0])
def test_a_bound_spares_steps_and_changes_nothing(alpha):
    class Counting(ByPrefix):
        calls = 0

        def __call__(self, tokens):
            self.calls += 1
            return super().__call__(tokens)

    spared = 0
    for seed in range(30):
        searches = {}
        for stop in ("bound", "length"):
            model = Counting(4, seed)
            beam = Beam(3, n_best=2, stop=stop, length_penalty=alpha)
            searches[stop] = beam_search(model, [[1]], 8, beam, eos=0), model.calls
        (bound, early), (length, late) = searches.values()
        assert torch.equal(bound.tokens, length.tokens)
        assert_close(bound.scores, length.scores)
        spared += late - early
    assert spared > (50 if alpha < 1 else 5 if alpha == 1 else -1)


def test_a_text_that_gets_better_late_is_waited_for_by_the_bound_and_missed_by_the_estimate():
    def model(tokens):  # 0 ends at once and is likely; after 1 there is nothing but 1
        first = torch.tensor([0.9, 0.1, 1e-30]).log()
        later = torch.tensor([1e-30, 1.0, 1e-30]).log()
        return torch.where((tokens == 1)[..., None], later, first)

    found = {}
    for stop in STOPS:
        beam = Beam(2, finished=1, stop=stop)
        found[stop] = beam_search(model, [[2]], 40, beam, eos=0)
    assert found["bound"].lengths.item() == found["length"].lengths.item() == 40
    assert found["bound"].scores.item() == pytest.approx(math.log(0.1) / 40)
    assert found["estimate"].lengths.item() == found["count"].lengths.item() == 1
    assert found["count"].scores.item() == pytest.approx(math.log(0.9))


def test_the_rules_to_stop_end_when_they_say():
    class Counting(ByPrefix):
        calls = 0

        def __call__(self, tokens):
            self.calls += 1
            return super().__call__(tokens)

    def calls(**settings):
        model = Counting(4, 9)
        beam_search(model, [[1]], 9, Beam(4, **settings), eos=0)
        return model.calls

    assert calls(stop="length") == 9
    assert [calls(stop="count", finished=n) for n in (1, 2, 4, 8, 100)] == [1, 2, 3, 5, 9]
    assert calls(stop="count") <= calls(stop="estimate")  # which wants as many, and more
    assert calls(stop="bound") < 9


def test_one_group_is_plain_beam_search_and_several_differ_more():
    model, tokens = TinyGPT().double(), torch.randint(11, (20, 3))
    plain = beam_search(model, tokens, 6, Beam(6, n_best=6))
    assert torch.equal(beam_search(model, tokens, 6, Beam(6, n_best=6, groups=1)).tokens, plain.tokens)
    diverse = beam_search(model, tokens, 6, Beam(6, n_best=6, groups=6, diversity=5.0))

    def different_tokens(found):
        return sum(len(set(column)) for texts in found.tokens.tolist() for column in zip(*texts, strict=True))

    assert different_tokens(diverse) > different_tokens(plain)
    assert (diverse.scores <= plain.scores + 1e-9).all()


def test_the_first_group_is_not_moved_by_the_others():
    model, tokens = TinyGPT().double(), torch.randint(11, (5, 3))
    alone = beam_search(model, tokens, 6, Beam(2))
    first = beam_search(model, tokens, 6, Beam(6, groups=3, diversity=50.0, n_best=6))
    for i in range(5):
        assert alone.tokens[i, 0].tolist() in first.tokens[i].tolist()


def test_with_renormalisation_what_a_filter_leaves_is_a_distribution():
    model, tokens = ByPrefix(5, 1), [[1, 2]]
    penalty = [RepetitionPenalty(2.0)]
    raw, normal = (beam_search(model, tokens, 3, Beam(5, renormalise=r), filters=penalty) for r in (False, True))
    text = normal.tokens[0, 0].tolist()
    total = 0.0
    for i in range(2, 5):
        log_p = torch.tensor(model.log_p(text[:i]))
        log_p[text[:i]] *= 2
        total += float(log_p.log_softmax(-1)[text[i]])
    assert float(normal.log_probabilities) == pytest.approx(total)
    assert float(raw.log_probabilities) < total


def test_more_beams_than_tokens_are_no_error():
    found = beam_search(ByPrefix(2, 0), [[1]], 2, Beam(16, n_best=4))
    assert len({tuple(text) for text in found.tokens[0].tolist()}) == 4
    assert found.scores.isfinite().all()
    assert beam_search(lambda t: torch.zeros(*t.shape, 1), [[0]], 3, 4).scores.tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, r"beam: size must be int ≥ 1, got 0\."),
        ({"size": 10**30}, "is more than the 1,048,576 that a search can follow"),
        ({"size": 2.0}, "beam: size must be int"),
        ({"size": 2, "n_best": 0}, "beam: n_best must be int ≥ 1"),
        ({"size": 2, "n_best": 3}, r"beam: n_best=3 are more than the 2 kept ones\."),
        ({"size": 3, "groups": 2, "diversity": 1.0}, "beam: size must be a multiple of groups, got 3 and 2"),
        ({"size": 4, "groups": 2}, "beam: diversity must be a number above 0 with several groups, got 0.0"),
        ({"size": 4, "diversity": 1.0}, "beam: diversity must be 0 with one group, got 1.0"),
        ({"size": 4, "stop": "early"}, "There is no rule to stop 'early'. Valid: bound, count, estimate, length"),
        ({"size": 4, "length_penalty": math.nan}, "beam: length_penalty must be a finite number, got nan"),
        ({"size": 4, "finished": 0}, "beam: finished must be int ≥ 1, got 0"),
    ],
)
def test_settings_that_mean_nothing_are_told(settings, message):
    with pytest.raises(GradlabError, match=message):
        Beam(**settings)
