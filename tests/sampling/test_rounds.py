"""Rounds that a device would replay, done on the CPU as they are: the same texts, and as often as they should come."""

import math

import pytest
import torch
from decoding_helpers import all_texts
from scipy import stats

from gradlab.errors import GradlabError
from gradlab.models.language import RecurrentLanguageModel, TransformerLanguageModel
from gradlab.sampling import Draft, Lookup, MinP, Temperature, TopK, captured, generate, speculate, speculative
from gradlab.sampling.page import Page
from gradlab.sampling.rounds import Rounds


def transformer(seed=0, vocabulary=11, context=64, scale=0.3, **settings):
    torch.manual_seed(seed)
    model = TransformerLanguageModel(vocabulary, context, dim=16, layers=2, heads=2, **settings).double()
    for parameter in model.parameters():
        parameter.data.add_(scale * torch.randn_like(parameter))
    return model.eval()


@pytest.fixture
def rounds(monkeypatch):
    """As on a device. Gives the rounds there were, one of a text."""
    made = []

    class Kept(Rounds):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(captured, "is_worth", lambda device, tokens: tokens > 0)
    monkeypatch.setattr(speculative, "Rounds", Kept)
    return made


DRAFTS = {
    "itself": lambda: Draft(transformer(), ahead=3),
    "similar": lambda: Draft(transformer(scale=0.29), ahead=4),
    "another": lambda: Draft(transformer(seed=1, position="rotary"), ahead=1),
    "lookup": lambda: Lookup(longest=2, ahead=5),
}


@pytest.mark.parametrize("eos", [None, 3, [1, 4, 7]])
@pytest.mark.parametrize("draft", DRAFTS)
def test_greedy_text_and_acceptance_are_those_of_the_usual_way(draft, eos, rounds, monkeypatch):
    model, prompts = transformer(), [[1, 2, 3], [4], [5, 6, 5, 6, 5]]
    wanted = generate(model, prompts, 30, eos=eos)
    with monkeypatch.context() as usual:
        usual.setattr(captured, "is_worth", lambda device, tokens: False)
        host = DRAFTS[draft]()
        assert torch.equal(generate(model, prompts, 30, eos=eos, draft=host), wanted)
    assert not rounds
    device = DRAFTS[draft]()
    assert torch.equal(generate(model, prompts, 30, eos=eos, draft=device), wanted)
    assert rounds
    if draft == "itself" and eos is None:  # guesses behind an end count too
        assert device.acceptance.rate == host.acceptance.rate == 1
    else:
        assert device.acceptance.rate == pytest.approx(host.acceptance.rate, abs=0.12)
    assert device.acceptance.readings < 3 * 30


@pytest.mark.parametrize(
    "settings",
    [{"position": "rotary", "norm": "rms", "gated": True}, {"position": "alibi"}, {"attention": "additive"}],
    ids=str,
)
def test_other_transformers_write_the_same(settings, rounds):
    model, prompts = transformer(**settings), torch.randint(11, (2, 4))
    wanted = generate(model, prompts, 25)
    for draft in (Draft(transformer(2, **settings)), Lookup()):
        assert torch.equal(generate(model, prompts, 25, draft=draft), wanted)
    assert len(rounds) == 4


@pytest.mark.parametrize(
    "draft",
    [Draft(transformer(5, 3, 8, 0.5), ahead=2), Draft(transformer(0, 3, 8, 0.6), ahead=1), Lookup(2, 2)],
    ids=["other", "similar", "lookup"],
)
@pytest.mark.parametrize("filters", [[], [Temperature(0.7), TopK(2), MinP(0.05)]], ids=["plain", "filtered"])
def test_texts_come_as_often_as_without_a_draft(draft, filters, rounds):
    model, count, longest = transformer(0, 3, 8, 0.5), 700, 3
    every = list(all_texts(3, longest, ()))
    with torch.no_grad():
        logits = model(torch.tensor([[1, *text] for text in every]))[:, :-1].flatten(0, 1)
        for change in filters:
            logits = change(logits)
        chosen = torch.tensor(every).flatten()
        logs = logits.log_softmax(-1).gather(1, chosen[:, None]).view(len(every), longest).sum(1)
    generator, counts = torch.Generator().manual_seed(0), dict.fromkeys(every, 0)
    with torch.inference_mode():
        for _ in range(count):
            page = Page([[1]], longest)
            counts[tuple(t for run in speculate(model, draft, page, filters, generator) for t in run)] += 1
    assert len(rounds) == count
    observed, seen = torch.tensor(list(counts.values())), logs > -math.inf
    assert observed[~seen].sum() == 0
    # By chance alone it would be lower once in 10,000 seeds.
    assert stats.chisquare(observed[seen], count * logs.exp()[seen] / logs.exp().sum()).pvalue > 1e-4


def test_the_same_seed_gives_the_same_text(rounds):
    model, drawn = transformer(), {"temperature": 1.0, "draft": Draft(transformer(1))}
    texts = [generate(model, [[1, 2], [3]], 20, seed=seed, **drawn) for seed in (3, 3, 4)]
    assert torch.equal(texts[0], texts[1])
    assert not torch.equal(texts[0], texts[2])


@pytest.mark.parametrize(
    ("model", "draft", "more"),
    [
        (lambda: transformer(attention="linear"), Lookup, {}),
        (lambda: RecurrentLanguageModel(11, dim=8).double().eval(), Lookup, {}),
        (transformer, lambda: Draft(RecurrentLanguageModel(11, dim=8).double().eval()), {}),
        (lambda: transformer(context=24), Lookup, {}),  # the window slides
        (transformer, Lookup, {"repetition_penalty": 1.2}),
    ],
    ids=["linear", "recurrent", "recurrent draft", "window", "penalty"],
)
def test_what_cannot_be_replayed_is_written_as_usual(model, draft, more, rounds):
    torch.manual_seed(0)
    model = model()
    assert torch.equal(
        generate(model, [[1, 2, 3]], 30, draft=draft(), **more), generate(model, [[1, 2, 3]], 30, **more)
    )
    assert not rounds


@pytest.mark.parametrize("way", [{}, {"temperature": 0.9, "seed": 1}], ids=str)
def test_nan_is_told(way, rounds):
    model = transformer()
    model.position.weight.data[8] = torch.nan
    # Guesses are read ahead, so that it may be told before its own step, which is 7.
    with pytest.raises(GradlabError, match=r"No token can be chosen at step [2-7] of row 0"):
        generate(model, torch.arange(1, 7).view(2, 3), 20, draft=Lookup(), **way)


def test_nan_of_a_draft_is_told_where_tokens_are_drawn(rounds):
    draft = transformer(1)
    draft.position.weight.data[8] = torch.nan
    with pytest.raises(GradlabError, match="No token can be chosen at step"):
        generate(transformer(), torch.arange(1, 4).view(1, 3), 20, draft=Draft(draft), temperature=1.0, seed=0)
