"""The same texts and scores as `transformers` finds with the same model, of random weights."""

import pytest
import torch
from torch.testing import assert_close

from gradlab.sampling import (
    Beam,
    MinP,
    RepetitionPenalty,
    SamplingContext,
    Temperature,
    TopK,
    TopP,
    beam_search,
    generate,
)

transformers = pytest.importorskip("transformers", reason="the peer, Hugging Face's transformers, is not installed")

PROMPTS = [20, pytest.param(200, marks=pytest.mark.slow)]
STOPS = {True: "count", False: "estimate", "never": "bound"}


def gpt2():
    sizes = {"vocab_size": 40, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 2}
    # With such weights some tokens are much more probable than others, so that searches do end early.
    config = transformers.GPT2Config(**sizes, initializer_range=0.4, bos_token_id=None, eos_token_id=None)
    return transformers.GPT2LMHeadModel(config)


def llama():
    sizes = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
    config = transformers.LlamaConfig(**sizes, **heads, initializer_range=0.4, bos_token_id=None, eos_token_id=None)
    return transformers.LlamaForCausalLM(config)


@pytest.fixture(params=[gpt2, llama])
def model(request):
    torch.manual_seed(0)
    return request.param().double().eval()  # in float32 two texts may be as good as each other


def theirs(model, tokens, **settings):
    return model.generate(
        tokens,
        attention_mask=torch.ones_like(tokens),
        max_new_tokens=10,
        do_sample=False,
        pad_token_id=1,
        return_dict_in_generate=True,
        output_scores=True,
        **settings,
    )


@pytest.mark.parametrize("count", PROMPTS)
@pytest.mark.parametrize("eos", [None, 3, [5, 9]])
@pytest.mark.parametrize("penalty", [1.0, 1.4])
def test_greedy_texts_are_the_same(model, count, eos, penalty):
    tokens = torch.randint(40, (count, 5))
    want = theirs(model, tokens, eos_token_id=eos, repetition_penalty=penalty).sequences
    assert torch.equal(generate(model, tokens, 10, eos=eos, pad=1, repetition_penalty=penalty), want)


@pytest.mark.parametrize("count", PROMPTS)
@pytest.mark.parametrize("early_stopping", STOPS)
@pytest.mark.parametrize(
    ("eos", "size", "length_penalty"),
    [(None, 3, 1.0), (3, 2, 1.0), (3, 5, 0.0), (3, 4, 2.0), (3, 4, -1.0), ([5, 9, 30], 3, 0.5), ([5, 9, 30], 8, 1.0)],
)
def test_beam_searches_find_the_same(model, count, early_stopping, eos, size, length_penalty):
    tokens = torch.randint(40, (count, 4))
    settings = {"eos_token_id": eos, "length_penalty": length_penalty, "early_stopping": early_stopping}
    want = theirs(model, tokens, num_beams=size, num_return_sequences=2, **settings)
    beam = Beam(size, n_best=2, length_penalty=length_penalty, stop=STOPS[early_stopping])
    found = beam_search(model, tokens, 10, beam, eos=eos, pad=1)
    assert torch.equal(found.tokens.flatten(0, 1), want.sequences)
    assert_close(found.scores.flatten().float(), want.sequences_scores, rtol=0, atol=1e-4)


@pytest.mark.parametrize("count", PROMPTS)
@pytest.mark.parametrize("renormalise", [False, True])
def test_searches_with_filters_find_the_same(model, count, renormalise):
    tokens = torch.randint(40, (count, 4))
    want = theirs(
        model,
        tokens,
        num_beams=3,
        eos_token_id=3,
        repetition_penalty=1.3,
        renormalize_logits=renormalise,
        early_stopping=True,
    )
    beam = Beam(3, stop="count", renormalise=renormalise)
    found = beam_search(model, tokens, 10, beam, eos=3, pad=1, filters=[RepetitionPenalty(1.3)])
    assert torch.equal(found.tokens[:, 0], want.sequences)
    assert_close(found.scores.flatten().float(), want.sequences_scores, rtol=0, atol=1e-4)


@pytest.mark.parametrize("count", PROMPTS)
@pytest.mark.parametrize("size", [1, 3])
def test_constrained_texts_are_the_same(model, count, size):
    tokens = torch.randint(40, (count, 4))

    def rule(example, new):
        return [example % 7, 11, 12] if len(new) % 2 else list(range(20))

    want = theirs(
        model, tokens, num_beams=size, prefix_allowed_tokens_fn=lambda example, text: rule(example, text[4:].tolist())
    )
    assert torch.equal(generate(model, tokens, 10, beam=size, allowed=rule), want.sequences)


@pytest.mark.parametrize("count", PROMPTS)
def test_filters_are_their_warpers(count):
    logits, tokens = 3 * torch.randn(count, 300, dtype=torch.float64), torch.randint(300, (count, 7))
    context = SamplingContext(tokens, [7] * count)
    pairs = [
        (Temperature(0.7), transformers.TemperatureLogitsWarper(0.7)),
        *((TopK(k), transformers.TopKLogitsWarper(k)) for k in (1, 5, 299, 400)),
        *((TopP(p), transformers.TopPLogitsWarper(p)) for p in (0.05, 0.5, 0.9, 0.99)),
        *((MinP(p), transformers.MinPLogitsWarper(p)) for p in (0.001, 0.1, 0.9)),
        *((RepetitionPenalty(p), transformers.RepetitionPenaltyLogitsProcessor(p)) for p in (0.5, 1.3)),
    ]
    for ours, warper in pairs:
        assert_close(
            ours(logits, context), warper(tokens, logits.clone()), msg=lambda told, ours=ours: f"{ours}: {told}"
        )


def test_they_draw_from_the_same_distribution(model):
    tokens = torch.randint(40, (5, 4))
    shaped = {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.2}
    given = []

    def keep(logits, context):
        given.append(logits)
        return logits

    settings = {**shaped, "max_new_tokens": 1, "pad_token_id": 1, "do_sample": True, "output_scores": True}
    scores = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), return_dict_in_generate=True, **settings
    ).scores
    context = SamplingContext(tokens, [4] * 5)
    logits = model(tokens).logits[:, -1].float()
    for change in (RepetitionPenalty(1.2), Temperature(0.8), TopK(20), TopP(0.9), MinP(0.02)):
        logits = change(logits, context)
    assert_close(logits, scores[0])
    texts = generate(model, tokens, 1, **shaped, seed=0, filters=[keep])
    assert (scores[0].gather(1, texts[:, -1:]) > -float("inf")).all()
    # Filters of one's own see the logits before temperature and cuts, and after the penalty.
    (kept,) = given
    assert_close(kept, RepetitionPenalty(1.2)(model(tokens).logits[:, -1], context))
