"""Tokens shown one by one make the text that they make together."""

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.text.decoding import Decoding
from gradlab.data.text.tokenizer import Tokenizer

KINDS = ["byte", "char", "word", "bpe"]


@pytest.fixture(scope="module")
def made():
    texts = ["ab€ 😀(c), d.\n[e] {f}: g; h! i?" * 3]
    return {
        kind: Tokenizer.train(kind, texts, special=["<eos>"], vocabulary=290 if kind == "bpe" else None)
        for kind in KINDS
    }


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_shown_bit_by_bit_is_the_whole_text(made, kind, data):
    tokenizer = made[kind]
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1)))
    decoding = Decoding(tokenizer)
    assert "".join([*map(decoding, ids), decoding.end()]) == tokenizer.decode(ids)


def test_a_character_is_shown_as_soon_as_it_is_complete(made):
    tokenizer = made["byte"]
    decoding = Decoding(tokenizer)
    assert [decoding(i) for i in tokenizer.encode("a€b😀").tolist()] == ["a", "", "", "€", "b", "", "", "", "😀"]
    assert decoding.end() == ""


def test_bytes_that_are_no_character_hold_nothing_up(made):
    tokenizer = made["byte"]
    euro, letter = tokenizer.encode("€").tolist(), tokenizer.encode("a").tolist()
    decoding = Decoding(tokenizer)
    assert [decoding(i) for i in [euro[1], *letter, *euro[:2], *letter]] == ["\ufffd", "a", "", "", "\ufffda"]
    assert decoding(euro[0]) == ""
    assert decoding.end() == "\ufffd"


def test_special_tokens_are_not_shown(made):
    for tokenizer in made.values():
        assert Decoding(tokenizer)(tokenizer["<eos>"]) == ""


def test_a_tokenizer_of_another_make_is_shown_by_its_own_library():
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab={"a": 0, "b": 1}, unk_token="a"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    decoding = Decoding(Tokenizer(inner))
    assert "".join([*map(decoding, [0, 1, 0]), decoding.end()]) == "a b a"
