"""Counting language models against a dictionary, the laws of probability, perplexity, and NLTK."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models import ngram_counts
from gradlab.models.ngram import NGram


def by_dictionary(text, vocabulary, smoothing):
    """P̂(x | context) straight from the formula, in exact fractions, by looking through the text."""
    smoothing = [Fraction(eps) for eps in smoothing]

    def probability(token, context):
        context = tuple(context)[-(len(smoothing) - 1) :] if len(smoothing) > 1 else ()
        length = len(context)
        eps = smoothing[length]
        followed = Counter(
            text[i + length] for i in range(len(text) - length) if tuple(text[i : i + length]) == context
        )
        total = sum(followed.values())
        shorter = probability_of_shorter(token, context)
        return (followed[token] + eps * shorter) / (total + eps) if total + eps else shorter

    def probability_of_shorter(token, context):
        return probability(token, context[1:]) if context else Fraction(1, vocabulary)

    return probability


@st.composite
def cases(draw):
    """A text, how many tokens there may be, and a smoothing for each order."""
    vocabulary, order = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    text = draw(st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=25))
    eps = st.sampled_from([0.0, 0.25, 1.0, 3.0])
    return text, vocabulary, draw(st.lists(eps, min_size=order, max_size=order))


def fitted(case):
    text, vocabulary, smoothing = case
    return NGram(vocabulary, len(smoothing), smoothing).double().fit(np.array(text, dtype=np.uint8))


def sequences(vocabulary):
    return st.lists(st.integers(0, vocabulary - 1), max_size=9)


@given(cases(), st.data())
def test_every_probability_is_that_of_the_formula(case, data):
    model, probability = fitted(case), by_dictionary(*case)
    tokens = data.draw(sequences(model.vocabulary))
    found = model(torch.tensor([tokens], dtype=torch.int64)).exp()[0]
    for place in range(len(tokens)):
        wanted = [float(probability(x, tokens[: place + 1])) for x in range(model.vocabulary)]
        assert_close(found[place], torch.tensor(wanted, dtype=torch.float64))
    wanted = [float(probability(x, tokens)) for x in range(model.vocabulary)]
    after = model.next_logits(torch.tensor([tokens], dtype=torch.int64)).exp()
    assert_close(after[0], torch.tensor(wanted, dtype=torch.float64))


def test_contexts_that_were_not_seen_are_told_from_their_neighbours(rng):
    text, tokens = rng.integers(0, 4, size=60).tolist(), torch.from_numpy(rng.integers(0, 4, size=(6, 25)))
    smoothing = [1.0, 0.5, 2.0, 0.25, 1.5]
    probability = by_dictionary(text, 4, smoothing)
    found = NGram(4, 5, smoothing).double().fit(np.array(text))(tokens).exp()
    wanted = [[[float(probability(x, row[: i + 1])) for x in range(4)] for i in range(25)] for row in tokens.tolist()]
    assert_close(found, torch.tensor(wanted, dtype=torch.float64))


@given(cases(), st.data())
def test_probabilities_of_every_context_sum_to_one(case, data):
    """Also those of the last context of the text, which is followed by nothing (E15)."""
    text, model = case[0], fitted(case)
    for tokens in (data.draw(sequences(model.vocabulary)), text):
        sums = model(torch.tensor([tokens], dtype=torch.int64)).exp().sum(-1)
        assert_close(sums, torch.ones_like(sums))


def test_a_context_that_ends_the_text_is_counted_where_it_is_followed():
    letters = sorted(set("abracadabra"))
    text = torch.tensor([letters.index(c) for c in "abracadabra"])
    model = NGram(5, order=2, smoothing=[1.0, 1.0]).double().fit(text)
    row = model(torch.tensor([[0]])).exp()[0, 0]
    a = (5 + 1 / 5) / 12  # of 11 letters 5 are a, of which 4 are followed by one
    assert row[0].item() == pytest.approx((0 + a) / 5)
    assert row[1].item() == pytest.approx((2 + (2 + 1 / 5) / 12) / 5)
    assert row.sum().item() == pytest.approx(1)


@given(cases(), st.data())
def test_the_log_probability_of_targets_is_what_all_logits_have_for_them(case, data):
    model = fitted(case)
    tokens = torch.tensor([data.draw(sequences(model.vocabulary))], dtype=torch.int64)
    targets = torch.randint(model.vocabulary, tokens.shape)
    assert_close(model.log_prob(tokens, targets), model(tokens).gather(-1, targets[..., None])[..., 0])


@given(cases(), st.integers(1, 7))
def test_counting_in_chunks_is_counting_at_once(case, chunk):
    text, model = case[0], fitted(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngram_counts, "_CHUNK", chunk)
        other = NGram(model.vocabulary, model.order, model.smoothing.tolist()).double().fit(torch.tensor(text))
    for name, table in model.state_dict().items():
        assert torch.equal(table, other.state_dict()[name]), name


@given(cases(), st.data())
def test_reading_with_a_cache_is_reading_at_once(case, data):
    model = fitted(case)
    tokens = torch.tensor([data.draw(sequences(model.vocabulary))], dtype=torch.int64).repeat(2, 1)
    cache = model.new_cache(batch=2, max_length=10)
    cuts = sorted(data.draw(st.lists(st.integers(0, tokens.shape[1]), max_size=3)))
    parts = torch.tensor_split(tokens, cuts, dim=1)
    given = [model(part, cache=cache) for part in parts]
    assert_close(torch.cat(given, dim=1), model(tokens))
    assert cache.length == tokens.shape[1]
    if cache.length:
        cache.truncate(cache.length - 1)
        cache.reorder(torch.tensor([1]))
        assert_close(model(tokens[1:, -1:], cache=cache)[:, -1], model(tokens)[1:, -1])


def test_rows_of_a_batch_do_not_see_each_other():
    model = NGram(4, order=3).fit(torch.randint(4, (200,)))
    tokens = torch.randint(4, (5, 7))
    assert_close(model(tokens), torch.cat([model(row[None]) for row in tokens]))


# Perplexity: exp of the mean of −log P


def perplexity(model, tokens):
    return model.log_prob(tokens[None, :-1], tokens[None, 1:]).mean().neg().exp().item()


def test_a_text_without_surprise_has_perplexity_one():
    text = torch.arange(200) % 5
    assert perplexity(NGram(5, order=2, smoothing=0.0).fit(text), text) == pytest.approx(1)
    assert perplexity(NGram(5, order=4, smoothing=1e-9).double().fit(text), text) == pytest.approx(1)


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary():
    text = torch.randint(7, (100,))
    assert perplexity(NGram(7, order=3), text) == pytest.approx(7)
    assert perplexity(NGram(7, order=3, smoothing=1e9).double().fit(text), text) == pytest.approx(7, rel=1e-4)
    assert perplexity(NGram(7, order=3, smoothing=0.0).fit(torch.zeros(5, dtype=torch.int64)), text) == math.inf


def test_perplexity_is_exp_of_the_mean_cross_entropy():
    text = torch.randint(7, (300,))
    model = NGram(7, order=2).fit(text[:200])
    entropy = torch.nn.functional.cross_entropy(model(text[None, 200:-1])[0], text[201:])
    assert perplexity(model, text[200:]) == pytest.approx(entropy.exp().item())


def test_longer_contexts_help_where_text_has_structure():
    text = torch.tensor(list(b"the cat sat on the mat. the rat sat on the cat. " * 20))
    by_order = [perplexity(NGram(256, order, smoothing=0.1).fit(text[:800]), text[800:]) for order in range(1, 9)]
    assert by_order[:4] == sorted(by_order[:4], reverse=True)
    assert by_order[7] < 1.2


def test_more_smoothing_leads_to_the_shorter_context_and_at_last_to_all_alike():
    text, tokens = torch.randint(5, (100,)), torch.randint(5, (1, 20))
    bigram = NGram(5, order=2, smoothing=1.0).double().fit(text)
    assert_close(NGram(5, 3, [1.0, 1.0, 1e12]).double().fit(text)(tokens), bigram(tokens))
    uniform = NGram(5, 3, 1e12).double().fit(text)(tokens).exp()
    assert_close(uniform, torch.full_like(uniform, 0.2))


def test_nltk_has_the_same_probabilities_where_the_formula_is_the_same():
    """Laplace's and Lidstone's rules smooth with the uniform law: ε of the shorter contexts goes to infinity."""
    lm = pytest.importorskip("nltk.lm")
    vocabulary, order = 6, 3
    text = torch.randint(vocabulary, (400,)).tolist()
    words = [str(token) for token in text]
    grams = [[tuple(words[i : i + n]) for i in range(len(words) - n + 1)] for n in range(1, order + 1)]
    for gamma, theirs in ((1.0, lm.Laplace(order)), (0.25, lm.Lidstone(0.25, order))):
        assert set(text) == set(range(vocabulary))
        theirs.fit(grams, vocabulary_text=map(str, range(vocabulary)))
        # Their vocabulary has one word more, for all that is unknown; it gets a share of the smoothing.
        m = len(theirs.vocab)
        assert m == vocabulary + 1
        ours = NGram(m, order, [1e15, 1e15, gamma * m]).double().fit(torch.tensor(text))
        for context in [(1, 2), (5, 0), (3, 3)]:
            found = ours.next_logits(torch.tensor([context])).exp()[0]
            for x in range(vocabulary):
                assert found[x].item() == pytest.approx(theirs.score(str(x), map(str, context)), rel=1e-9)


# State


def test_counts_are_saved_and_read_back_whatever_their_sizes(tmp_path):
    model = NGram(9, order=4, smoothing=[0.1, 0.2, 0.3, 0.4]).fit(torch.randint(9, (500,)))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other = NGram(9, order=4).fit(torch.zeros(3, dtype=torch.int64))
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    tokens = torch.randint(9, (2, 30))
    assert torch.equal(other(tokens), model(tokens))
    assert torch.equal(other.log_prob(tokens, tokens), model.log_prob(tokens, tokens))
    assert not list(model.parameters())


def test_counting_again_begins_anew_and_moving_changes_nothing():
    one, other = torch.randint(5, (90,)), torch.randint(5, (90,))
    model, tokens = NGram(5).fit(one), torch.randint(5, (2, 10))
    assert torch.equal(model.fit(other)(tokens), NGram(5).fit(other)(tokens))
    assert model.to("cpu").double()(tokens).dtype == torch.float64
    assert model.float()(tokens).dtype == torch.float32


def test_the_memory_is_that_of_the_different_ngrams():
    text = torch.randint(50_000, (2000,))
    model = NGram(50_000, order=8).fit(text)
    assert all(len(contexts.pairs) <= 2000 for contexts in model.contexts)
    assert model.next_logits(text[None, :20]).argmax().item() == text[20].item()


def test_what_waits_to_be_merged_is_no_more_than_what_is_there():
    tally = ngram_counts._Tally()
    for _ in range(100):
        tally.add(np.arange(50))
        assert tally.waiting < 50
    keys, counts = tally.merged()
    assert keys.tolist() == list(range(50))
    assert set(counts.tolist()) == {100}


def test_many_keys_are_counted_as_one_would(rng, monkeypatch):
    monkeypatch.setattr(ngram_counts, "_CHUNK", 100)
    text = rng.integers(0, 30, size=5000)
    model = NGram(30, order=3).fit(text)
    pairs = Counter(zip(text.tolist(), text[1:].tolist(), strict=False))
    assert sorted(model.contexts[0].counts.tolist()) == sorted(pairs.values())
    assert model.contexts[0].totals.sum().item() == 4999
    assert model.contexts[1].counts.sum().item() == 4998


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"order": 0}, "an order of 1 to 8, got vocabulary=5 and order=0"),
        ({"order": 9}, "order=9"),
        ({"vocabulary": 0}, "vocabulary=0"),
        ({"smoothing": -1.0}, "a smoothing of 0 or more, or 3 such numbers, got -1.0"),
        ({"smoothing": [1.0, 1.0]}, "or 3 such numbers"),
        ({"smoothing": math.inf}, "got inf"),
        ({"smoothing": math.nan}, "got nan"),
    ],
)
def test_settings_that_make_no_model_are_told(knobs, words):
    with pytest.raises(GradlabError, match=words):
        NGram(**{"vocabulary": 5, **knobs})


def test_a_text_that_cannot_be_counted_is_told():
    with pytest.raises(GradlabError, match="the text has no tokens"):
        NGram(5).fit(torch.zeros(0, dtype=torch.int64))
    with pytest.raises(GradlabError, match=r"tokens 1 to 5, but the vocabulary is 0 to 4\. Were they made by another"):
        NGram(5).fit(torch.tensor([1, 2, 5]))
    with pytest.raises(GradlabError, match="tokens -1 to 2"):
        NGram(5).fit(torch.tensor([1, 2, -1]))
    with pytest.raises(
        GradlabError, match=r"2 contexts of 1 tokens, too many to count longer ones\. Use an order of 2"
    ):
        ngram_counts.context_counts(np.array([1, 2, 3]), 2**31, [np.array([1, 2])])
