import math

import pytest
import torch
from decoding_helpers import ByPrefix, TinyGPT, exhaustive

from gradlab.errors import GradlabError
from gradlab.sampling import Allowed, Beam, Draft, Lookup, SamplingContext, beam_search, generate

WAYS = {
    "greedy": {},
    "sampled": {"temperature": 2.0, "seed": 0},
    "beams": {"beam": Beam(3, n_best=3)},
    "groups": {"beam": Beam(4, groups=2, diversity=0.5, n_best=2)},
    "drafted": {"draft": Lookup()},
    "drafted and sampled": {"draft": Draft(TinyGPT()), "temperature": 1.5, "seed": 1},
}
PROMPTS = [[1, 2, 3], [4], [5, 6]]


@pytest.mark.parametrize("way", WAYS)
def test_only_allowed_tokens_are_written(way):
    texts = generate(TinyGPT(), PROMPTS, 6, allowed=[2, 7, 9], pad=2, **WAYS[way])
    each = len(texts) // 3
    for i, text in enumerate(texts.tolist()):
        assert set(text[len(PROMPTS[i // each]) :]) <= {2, 7, 9}


@pytest.mark.parametrize("way", WAYS)
def test_every_text_begins_with_the_prefix(way):
    texts = generate(TinyGPT(), PROMPTS, 6, prefix=[8, 0, 8], **WAYS[way])
    each = len(texts) // 3
    for i, text in enumerate(texts.tolist()):
        start = len(PROMPTS[i // each])
        assert text[start : start + 3] == [8, 0, 8]


@pytest.mark.parametrize("way", WAYS)
def test_a_rule_sees_the_example_and_what_is_new(way):
    def turns(example, new):
        assert len(new) < 6
        return [example, example + 5] if len(new) % 2 else None if len(new) == 4 else [10]

    texts = generate(TinyGPT(), PROMPTS, 6, allowed=turns, **WAYS[way])
    each = len(texts) // 3
    for i, text in enumerate(texts.tolist()):
        example = i // each
        new = text[len(PROMPTS[example]) :][:6]
        assert new[0] == new[2] == 10
        assert {new[1], new[3], new[5]} <= {example, example + 5}


def test_a_rule_is_not_asked_about_rows_that_have_ended():
    def until_three(example, new):
        assert 3 not in new
        return [3] if len(new) == example else [4]

    texts = generate(TinyGPT(), [[1], [1], [1]], 6, allowed=until_three, eos=3)
    assert texts.tolist() == [[1, 3, 3, 3], [1, 4, 3, 3], [1, 4, 4, 3]]
    found = beam_search(TinyGPT(), [[1], [1], [1]], 6, 3, filters=[Allowed(until_three)], eos=3)
    assert found.tokens[:, 0].tolist() == texts.tolist()
    assert found.lengths.tolist() == [[1], [2], [3]]


def test_a_constrained_search_is_the_best_of_the_texts_that_may_be():
    for seed in range(10):
        model = ByPrefix(4, seed)
        ranked = [text for _, text in exhaustive(model, [0], 3) if 2 not in text and text[0] == 1]
        found = beam_search(model, [[0]], 3, Beam(64, n_best=9), filters=[Allowed(lambda _, new: MAY[bool(new)])])
        assert found.tokens[0, :, 1:].tolist() == [list(text) for text in ranked]


MAY = {False: [1], True: [0, 1, 3]}


def test_fewer_texts_than_were_wanted_leave_empty_places():
    found = beam_search(TinyGPT(), [[1, 2]], 3, Beam(4, n_best=3), filters=[Allowed([7])])
    assert found.scores[0, 0] > -math.inf
    assert found.scores[0, 1:].tolist() == [-math.inf, -math.inf]
    assert found.tokens[0, 0].tolist() == [1, 2, 7, 7, 7]
    assert found.lengths[0].tolist() == [3, 0, 0]
    assert found.tokens[0, 1].tolist() == [1, 2, 0, 0, 0]


def test_logits_of_allowed_tokens_are_not_changed():
    logits = torch.randn(2, 5)
    kept = Allowed([1, 3])(logits, SamplingContext(torch.zeros(2, 1, dtype=torch.int64), [1, 1]))
    assert torch.equal(kept[:, [1, 3]], logits[:, [1, 3]])
    assert (kept[:, [0, 2, 4]] == -math.inf).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"allowed": []}, r"allowed: tokens must be from 0 to 10, and at least one; got \[\]\."),
        ({"allowed": [11]}, "allowed: tokens must be from 0 to 10"),
        ({"allowed": lambda i, new: []}, "allowed, for example 1 at step 1: tokens must be from 0 to 10"),
        ({"prefix": [99]}, "prefix: tokens must be from 0 to 10"),
        ({"prefix": [1] * 7}, "prefix: 7 tokens do not fit into max_new_tokens=6"),
    ],
)
def test_constraints_that_cannot_be_met_are_told(settings, message):
    with pytest.raises(GradlabError, match=message):
        generate(TinyGPT(), PROMPTS, 6, **settings)
