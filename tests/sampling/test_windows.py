"""Texts that are longer than what a model sees."""

import pytest
import torch

from gradlab.models.language.recurrent import RecurrentLanguageModel
from gradlab.models.language.transformer import TransformerLanguageModel
from gradlab.sampling import Draft, Lookup, generate
from gradlab.sampling.models import Reader

LIMIT, TOKENS = 8, 11


def gpt(context=LIMIT, seed=0, position="learned"):
    torch.manual_seed(seed)
    return TransformerLanguageModel(TOKENS, context, dim=16, heads=2, layers=2, position=position).double().eval()


def seen(length, limit=LIMIT):
    """All of it, then a window that goes on by half of the limit."""
    start = 0
    while length - start > limit:
        start += limit // 2
    return start


def by_hand(model, prompt, count):
    text = list(prompt)
    for _ in range(count):
        text.append(int(model(torch.tensor([text[seen(len(text)) :]]))[0, -1].argmax()))
    return text


@pytest.mark.parametrize("position", ["learned", "rotary"])
@pytest.mark.parametrize("prompt", [[1], [1, 2, 3, 4, 5, 6, 7, 8], list(range(11)) * 2])
@pytest.mark.parametrize("cached", [True, False])
def test_the_window_slides_by_half_of_the_limit(position, prompt, cached):
    model = gpt(position=position)
    used = model
    if not cached:

        def used(tokens):
            assert tokens.shape[1] <= LIMIT
            return model(tokens)

        used.limit = LIMIT
    assert generate(used, [prompt], 30)[0].tolist() == by_hand(model, prompt, 30)


@pytest.mark.parametrize("cached", [True, False])
def test_logits_are_those_of_the_window(cached):
    model, text = gpt(), torch.randint(TOKENS, (2, 40), generator=torch.Generator().manual_seed(0))

    def plain(tokens):
        return model(tokens)

    plain.limit = LIMIT
    reader = Reader(model if cached else plain, 2, 40)
    with torch.inference_mode():
        for length in range(1, 41):
            want = model(text[:, seen(length) : length])[:, -1]
            assert torch.allclose(reader.read(text, length)[:, -1], want, rtol=0, atol=1e-9), length


def test_rows_of_several_lengths_and_drawn_ones_are_the_same_with_and_without_a_cache():
    model, prompts = gpt(), [[1, 2, 3], [4], list(range(11))]

    def plain(tokens):
        return model(tokens)

    plain.limit = LIMIT
    texts = [generate(each, prompts, 30, temperature=1.0, seed=3) for each in (model, plain)]
    assert torch.equal(*texts)


def test_a_beam_of_one_is_greedy_beyond_the_limit_too():
    model = gpt()
    assert torch.equal(generate(model, [[1, 2]], 30, beam=1), generate(model, [[1, 2]], 30))
    assert generate(model, [[1, 2], [3, 4]], 30, beam=3).shape == (2, 32)


@pytest.mark.parametrize(
    "draft",
    [Lookup(2, 5), Draft(gpt(5, seed=1), ahead=3), Draft(gpt(seed=0), ahead=4), Draft(gpt(20, seed=2), ahead=9)],
    ids=["lookup", "a shorter one", "itself", "a longer one"],
)
@pytest.mark.parametrize("prompt", [[1], list(range(11))])
def test_a_draft_changes_nothing_beyond_the_limit(draft, prompt):
    model = gpt()
    assert torch.equal(generate(model, [prompt], 40, draft=draft), generate(model, [prompt], 40))


@pytest.mark.parametrize("limit", [1, 2, 3, 8])
def test_a_window_holds_half_of_the_limit_and_the_newest_token(limit):
    def model(tokens):
        assert limit // 2 < tokens.shape[1] <= limit or limit == 1
        return torch.eye(TOKENS)[(tokens + 1) % TOKENS]

    model.limit = limit
    assert generate(model, [range(limit)], 3 * limit + 5)[0].tolist() == [n % TOKENS for n in range(4 * limit + 5)]


def test_what_has_no_limit_reads_on_from_its_state():
    torch.manual_seed(0)
    model = RecurrentLanguageModel(TOKENS, dim=16).double().eval()
    text = [1, 2]
    for _ in range(30):
        text.append(int(model(torch.tensor([text]))[0, -1].argmax()))
    assert generate(model, [[1, 2]], 30)[0].tolist() == text
