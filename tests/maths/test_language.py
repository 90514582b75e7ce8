"""Probabilities of texts: what models, searches and metrics have, and what is refused."""

import math

import numpy as np
import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.maths import language
from gradlab.models import NGram

TEXT = torch.tensor([0, 1, 4, 0, 2, 0, 3, 0, 1, 4, 0])  # abracadabra


def test_the_ngram_model_is_the_formula():
    model = NGram(5, order=2, smoothing=[1.0, 0.5]).double().fit(TEXT)
    counts = torch.bincount(TEXT, minlength=5).double()
    unigrams = language.smoothed(counts, counts.sum(), 1.0, torch.full((5,), 0.2).double())
    pairs = torch.bincount(TEXT[:-1] * 5 + TEXT[1:], minlength=25).reshape(5, 5).double()
    rows = language.smoothed(pairs, pairs.sum(-1, keepdim=True), 0.5, unigrams)
    torch.testing.assert_close(model(torch.arange(5)[None]).exp()[0], rows)
    torch.testing.assert_close(rows.sum(-1), torch.ones(5).double())


def test_all_tokens_for_contexts_leave_a_row_that_does_not_sum_to_one():
    counts = torch.bincount(TEXT, minlength=5).double()
    pairs = torch.bincount(TEXT[:-1] * 5 + TEXT[1:], minlength=25).reshape(5, 5).double()
    wrong = language.smoothed(pairs[0], counts[0], 1.0, counts / counts.sum())
    assert wrong.sum().item() == pytest.approx(5 / 6)  # 0 is 5 of the tokens, and followed 4 times


def test_what_was_not_seen_is_as_the_prior_says():
    got = language.smoothed(torch.zeros(2), torch.tensor(0.0), 0.0, torch.tensor([0.3, 0.7]))
    torch.testing.assert_close(got, torch.tensor([0.3, 0.7]))


def test_a_bigram_model_is_a_table_of_texts():
    model = NGram(3, order=2, smoothing=1.0).double().fit(torch.tensor([0, 1, 0, 1, 0, 2]))
    first = model.next_logits(torch.zeros(1, 0, dtype=torch.int64))[0].exp()
    second = model(torch.arange(3)[None])[0].exp()
    joint = first[:, None] * second
    tables = language.conditionals(joint)
    torch.testing.assert_close(tables[1], second)
    texts = torch.tensor([[0, 1], [2, 2]])
    torch.testing.assert_close(language.sequence_log_probability(tables, texts).exp(), joint[[0, 2], [1, 2]])


def test_perplexity_takes_arrays_and_is_not_capped():
    assert float(language.perplexity(np.log(np.array([0.01, 0.02, 0.9])))) == pytest.approx(17.7, abs=0.1)
    assert language.perplexity(torch.tensor([-1000.0])) == math.inf


def test_what_is_no_text_is_told():
    with pytest.raises(GradlabError, match="a text without tokens has none"):
        language.perplexity(torch.zeros(3, 0))
    with pytest.raises(GradlabError, match="Texts have 3 tokens, and there are conditionals for 2"):
        language.sequence_log_probability(language.conditionals([[0.5, 0.5]]), torch.zeros(3, dtype=torch.int64))
    with pytest.raises(GradlabError, match=r"joint: probabilities must sum to 1, and these sum to 1.5"):
        language.conditionals([[0.5, 1.0]])
