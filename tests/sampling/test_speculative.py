import math

import pytest
import torch
from decoding_helpers import MODELS, ByPrefix, TinyGPT, all_texts, log_probability, without_cache
from scipy import stats

from gradlab.errors import GradlabError
from gradlab.sampling import Draft, Lookup, RepetitionPenalty, Temperature, TopK, generate, speculate
from gradlab.sampling.page import Page


def drafts(vocabulary=11):
    """Good, bad and other ones."""
    return {
        "lookup": Lookup(longest=2, ahead=5),
        "gpt": Draft(TinyGPT(vocabulary).double().eval(), ahead=3),
        "stateful": Draft(MODELS["gru"](vocabulary).double().eval(), ahead=4),
        "without a cache": without_cache(TinyGPT(vocabulary).double().eval()),
        "by prefix": Draft(ByPrefix(vocabulary, 9), ahead=1),
    }


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("draft", drafts())
@pytest.mark.parametrize("eos", [None, 3])
def test_greedy_text_is_the_one_without_a_draft(name, draft, eos):
    model, prompts = MODELS[name]().double().eval(), [[1, 2, 3], [4], [5, 6, 5, 6, 5]]
    for used in (model, without_cache(model)):
        for settings in ({}, {"repetition_penalty": 1.2}):
            plain = generate(used, prompts, 15, eos=eos, **settings)
            assert torch.equal(generate(used, prompts, 15, eos=eos, draft=drafts()[draft], **settings), plain)


def chi_square(model, draft, filters, target, count=1500, longest=3, eos=(2,)):
    """How probable counts at least as far from the model's own distribution of texts are."""
    every = list(all_texts(model.vocabulary, longest, eos))
    expected = torch.tensor([math.exp(log_probability(target, [1], text)) for text in every], dtype=torch.float64)
    counts = dict.fromkeys(every, 0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(count):
        page = Page([[1]], longest, eos=eos)
        counts[tuple(t for run in speculate(model, draft, page, filters, generator) for t in run)] += 1
    seen = expected > 0
    observed = torch.tensor(list(counts.values()))
    assert observed[~seen].sum() == 0
    return stats.chisquare(observed[seen], count * (expected / expected.sum())[seen]).pvalue


class Filtered(ByPrefix):
    """The distribution that filters make of a model's."""

    def __init__(self, model, filters):
        super().__init__(model.vocabulary)
        self.model, self.filters = model, filters

    def log_p(self, text):
        logits = self.model.logits(tuple(text))[None]
        for change in self.filters:
            logits = change(logits)
        return logits.log_softmax(-1)[0].tolist()


@pytest.mark.parametrize("draft", [Draft(ByPrefix(3, 5), ahead=2), Draft(ByPrefix(3, 1), ahead=1), Lookup(2, 2)])
@pytest.mark.parametrize("filters", [[], [Temperature(0.7), TopK(2)]])
def test_texts_come_as_often_as_without_a_draft(draft, filters):
    model = ByPrefix(3, 1, scale=0.8)
    # By chance alone it would be lower once in 10,000 seeds.
    assert chi_square(model, draft, filters, Filtered(model, filters)) > 1e-4


def test_the_test_sees_texts_of_another_distribution():
    model = ByPrefix(3, 1, scale=0.8)
    assert chi_square(model, Lookup(), [], ByPrefix(3, 2, scale=0.8)) < 1e-10
    assert chi_square(model, Lookup(), [], ByPrefix(3, 1, scale=0.6)) < 1e-4


def test_a_perfect_draft_is_always_taken():
    model = ByPrefix(5, 3)
    for generator in (None, torch.Generator().manual_seed(0)):
        runs = list(speculate(model, Draft(model, ahead=3), Page([[1]], 14), generator=generator))
        assert [len(run) for run in runs] == [4, 4, 4, 2]


def test_a_text_that_repeats_itself_is_looked_up():
    def period(tokens):  # 0 1 2 3 4 0 1 …
        return 9.0 * torch.nn.functional.one_hot((tokens + 1) % 5, 7)

    runs = list(speculate(period, Lookup(longest=3, ahead=4), Page([[0, 1, 2, 3, 4, 0]], 20)))
    assert [token for run in runs for token in run] == [(i + 1) % 5 for i in range(20)]
    assert [len(run) for run in runs] == [5, 5, 5, 5]


def test_lookups_take_the_longest_and_the_last_match():
    assert Lookup(2, 2).guess([1, 2, 7, 7, 1, 2, 8, 9, 5, 2, 6, 1, 2]) == [8, 9]
    assert Lookup(1, 2).guess([1, 2, 7, 2, 6, 3, 2]) == [6, 3]
    assert Lookup(3, 2).guess([1, 2, 3]) == []
    assert Lookup(3, 4).guess([5, 5]) == [5]


def test_the_same_seed_gives_the_same_text_and_rows_do_not_depend_on_each_other():
    model, draft = TinyGPT().double(), Draft(TinyGPT().double())
    prompts = [[1, 2, 3], [4], [5, 6]]
    texts = generate(model, prompts, 10, temperature=1.0, draft=draft, seed=3)
    assert torch.equal(generate(model, prompts, 10, temperature=1.0, draft=draft, seed=3), texts)
    first = generate(model, prompts[:1], 10, temperature=1.0, draft=draft, seed=3)
    assert torch.equal(first[0], texts[0, : first.shape[1]])


def test_filters_see_the_guesses_that_were_taken():
    model, prompts = TinyGPT().double(), [[1, 2, 3]]
    filters = [RepetitionPenalty(5.0)]
    plain = generate(model, prompts, 12, filters=filters)
    assert torch.equal(generate(model, prompts, 12, filters=filters, draft=Draft(model, ahead=5)), plain)


def test_a_draft_of_another_vocabulary_is_told():
    for other in (10, 12):
        with pytest.raises(GradlabError, match=rf"The draft has a vocabulary of {other}, the model one of 11\."):
            generate(TinyGPT(11), [[1]], 5, draft=TinyGPT(other))


def test_a_cache_that_cannot_go_back_is_told():
    class Forward:
        length = 0

        def reorder(self, rows): ...

    class Model(TinyGPT):
        def new_cache(self, batch, max_length):
            return Forward()

        def forward(self, tokens, *, cache=None):
            if cache is not None:
                cache.length += tokens.shape[1]
            return torch.zeros(*tokens.shape, 11)

    with pytest.raises(
        GradlabError, match=r"A draft needs a cache that can go back: it must have truncate\(length\)\."
    ):
        generate(Model(), [[1]], 5, draft=ByPrefix(11, 0))


def test_settings_that_mean_nothing_are_told():
    with pytest.raises(GradlabError, match="draft: ahead must be int ≥ 1, got 0"):
        Draft(TinyGPT(), ahead=0)
    with pytest.raises(GradlabError, match="lookup: longest must be int ≥ 1, got 0"):
        Lookup(0)
    with pytest.raises(GradlabError, match="speculate: one row at a time, got 2"):
        list(speculate(TinyGPT(), Lookup(), Page([[1], [2]], 3)))


def test_how_many_guesses_were_taken_is_counted():
    model = TinyGPT().double().eval()
    sure = Draft(model, ahead=3)
    generate(model, [[1, 2]], 12, draft=sure)
    # The draft is the model: each reading takes three guesses, and adds one token.
    assert (sure.acceptance.guesses, sure.acceptance.taken, sure.acceptance.readings) == (9, 9, 3)
    assert sure.acceptance.rate == 1
    wrong = Draft(lambda tokens: -model(tokens), ahead=2)
    generate(model, [[1, 2], [3, 4]], 5, draft=wrong)
    assert wrong.acceptance.taken == 0
    assert wrong.acceptance.readings == 10
    assert Lookup().acceptance.rate == 0
