"""A user's mistakes, each told in a line."""

import math

import pytest
import torch
from decoding_helpers import TinyGPT

from gradlab.errors import GradlabError
from gradlab.sampling import Beam, Lookup, generate, stream

TOKENS = torch.tensor([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "beam: size must be int ≥ 1, got 0"),
        ({"temperature": -0.5}, r"temperature must be a number above 0 \(0 is greedy decoding\), got -0\.5"),
        ({"top_k": 0}, "top_k must be a whole number of at least 1, got 0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, got 0.0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, got 1.5"),
        ({"temperature": 0, "top_p": 1.5}, "top_p must be above 0"),
        ({"min_p": 2.0}, "min_p must be from 0 to 1, got 2.0"),
        ({"repetition_penalty": -1.0}, "repetition_penalty must be a number above 0"),
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1, got 0"),
        ({"max_new_tokens": -3}, "max_new_tokens must be a whole number of at least 1, got -3"),
        ({"max_new_tokens": 2.5}, "max_new_tokens must be a whole number of at least 1, got 2.5"),
        (
            {"tokens": torch.zeros(2, 0, dtype=torch.int64)},
            r"tokens must hold at least one token .* got shape \(2, 0\)",
        ),
        ({"tokens": [[1], []]}, "Prompt 1 is empty: a model needs at least one token to go on from"),
        ({"tokens": []}, "There are no prompts"),
        ({"tokens": torch.zeros(0, 2, dtype=torch.int64)}, "tokens must hold at least one token"),
        (
            {"tokens": torch.tensor([1, 2])},
            r"tokens must have shape \(batch, length\), got \(2,\)\. One prompt is tokens",
        ),
        ({"tokens": [torch.ones(2, 2, dtype=torch.int64)]}, r"must have one axis each, got shape \(2, 2\) at 0"),
        ({"tokens": torch.ones(2, 2)}, "tokens must be whole numbers, got torch.float32"),
        ({"tokens": torch.tensor([[-1]])}, "tokens must be at least 0, got -1"),
        ({"tokens": torch.tensor([[1, 11]])}, "tokens: there is no token 11 in a vocabulary that ends with token 10"),
        ({"tokens": [[1, 2, 99], [1]]}, "tokens: there is no token 99 in a vocabulary that ends with token 10"),
        ({"eos": 50}, "eos: there is no token 50 in a vocabulary"),
        ({"eos": -1}, "eos must be a token, or tokens, of at least 0, got -1"),
        ({"eos": [1, 2.5]}, "eos must be a token, or tokens"),
        ({"pad": 50}, "pad: there is no token 50 in a vocabulary"),
        ({"lengths": [1]}, r"lengths must be 2 numbers from 1 to 2, one for each row, got \[1\]"),
        ({"lengths": [0, 2]}, r"lengths must be 2 numbers from 1 to 2, one for each row, got \[0, 2\]"),
        ({"tokens": [[1]], "lengths": [1]}, "lengths go with a matrix of tokens; a list of prompts has its own"),
        ({"temperature": 1.0, "seed": [1]}, "seed: 2 rows need as many seeds, or one for all; got 1"),
        ({"temperature": 1.0, "seed": -1}, "seed must be at least 0, got -1"),
        ({"beam": 2, "temperature": 1.0}, "A beam search neither draws tokens nor takes a draft: give beam alone"),
        ({"beam": Beam(2), "draft": Lookup()}, "A beam search neither draws tokens nor takes a draft"),
    ],
)
def test_what_cannot_be_asked_for_is_told(settings, message):
    asked = {"tokens": TOKENS, "max_new_tokens": 3} | settings
    with pytest.raises(GradlabError, match=message) as told:
        generate(TinyGPT(), **asked)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("way", [{}, {"beam": 2}, {"temperature": 1.0}, {"draft": Lookup()}])
@pytest.mark.parametrize(
    ("broken", "got"),
    [
        (lambda tokens: torch.zeros(len(tokens), 5), r"\(\d, 5\)"),
        (lambda tokens: torch.zeros(len(tokens), 1, 5), r"\(\d, 1, 5\)"),
        (lambda tokens: torch.zeros(tokens.shape[1], len(tokens), 5), r"\(2, \d, 5\)"),
        (lambda tokens: (torch.zeros(*tokens.shape, 5),), "tuple"),
        (lambda tokens: None, "NoneType"),
    ],
)
def test_logits_of_another_shape_are_told(way, broken, got):
    tokens = torch.tensor([[1, 2], [3, 4], [0, 0]])
    with pytest.raises(
        GradlabError, match=rf"The model must give logits of shape \(batch=\d, length=2, vocab.*got {got}"
    ):
        generate(broken, tokens, 3, **way)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "way", [{}, {"temperature": 1.0}, {"beam": 2}, {"top_k": 2, "top_p": 0.5}, {"draft": Lookup()}]
)
def test_logits_that_are_no_numbers_are_told_with_their_step(way, bad):
    def model(tokens):
        logits = torch.zeros(*tokens.shape, 5)
        if tokens.shape[1] >= 4:
            logits[-1, 3:, 2] = bad
        return logits

    with pytest.raises(GradlabError, match="No token can be chosen at step 3 of row") as told:
        generate(model, torch.tensor([[1, 2], [3, 4]]), 6, **way)
    assert ("row 1" in str(told.value)) == ("draft" not in way)


def test_in_a_prompt_or_with_a_draft_the_row_is_told_too():
    def model(tokens):
        logits = torch.zeros(*tokens.shape, 5)
        logits[tokens == 4] = math.nan
        return logits

    with pytest.raises(GradlabError, match=r"The model gave NaN or \+∞ for the prompt of row 1\."):
        generate(model, [[1], [4, 0, 0]], 3)
    with pytest.raises(GradlabError, match=r"No token can be chosen at step 1 of row 1"):
        generate(model, [[1, 1], [0, 4]], 3, draft=Lookup())


def test_when_every_token_is_ruled_out_it_is_told():
    def nothing(logits, context):
        return logits.masked_fill(torch.ones_like(logits, dtype=torch.bool), -math.inf)

    for way in ({}, {"temperature": 1.0}, {"draft": Lookup()}):
        with pytest.raises(
            GradlabError, match=r"No token can be chosen at step 1 of row 0: .* every token is ruled out"
        ):
            generate(TinyGPT(), TOKENS, 3, filters=[nothing], **way)


def test_a_cache_that_does_not_move_is_told():
    class Still(TinyGPT):
        def forward(self, tokens, *, cache=None):
            return torch.zeros(*tokens.shape, 11)

    with pytest.raises(GradlabError, match="The model's cache has length 0 after 2 tokens were read"):
        generate(Still(), TOKENS, 3)


def test_mistakes_are_told_before_the_first_token_is_asked_for():
    with pytest.raises(GradlabError, match="top_k must be"):
        stream(TinyGPT(), TOKENS, 3, top_k=0)


def test_errors_of_the_model_are_its_own():
    def model(tokens):
        raise IndexError("of its own")

    with pytest.raises(IndexError, match="of its own"):
        generate(model, TOKENS, 3)
