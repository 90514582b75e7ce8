"""A tokenizer.json from a stranger is refused before it is loaded, where it would take too long or too much memory."""

import base64
import copy
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from gradlab.data import Tokenizer
from gradlab.data.text.foreign import check_foreign
from gradlab.errors import GradlabError

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ONE_DIGIT = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+"
PUNCTUATION = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
)
VOCABULARY = {character: i for i, character in enumerate("abcdefgh ▁")}


def described(**parts: Any) -> dict[str, Any]:
    """A tokenizer.json with these parts."""
    model = {"type": "BPE", "vocab": VOCABULARY, "merges": [], "unk_token": None}
    empty = dict.fromkeys(["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"])
    return {"version": "1.0", "added_tokens": [], **empty, "model": model, **parts}


def split(pattern: str) -> dict[str, Any]:
    """Parts that split by a regular expression."""
    part = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"pre_tokenizer": part}


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(*normalizers: dict[str, Any]) -> dict[str, Any]:
    return {"normalizer": {"type": "Sequence", "normalizers": [*normalizers]}}


def charsmap(replacement: bytes) -> str:
    return base64.b64encode(struct.pack("<I", 4) + b"\0\0\0\0" + replacement + b"\0").decode()


KNOWN = {
    "GPT-2": split(GPT2),
    "Llama 3": split(LLAMA3),
    "one digit at a time": split(ONE_DIGIT),
    "punctuation": split(PUNCTUATION),
    "Llama 2": {
        **sequence({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                replace("▁", " "),
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
    },
    "T5": {
        **sequence(replace(" {2,}", "▁", "Regex"), {"type": "Strip", "strip_left": False, "strip_right": True}),
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    },
    "BERT": {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    },
}
SLOW = [
    "(a+)+$", "(?:a|a)*b", "(a|aa){2,}$", "(?:a*)*b", "a*a*a*a*a*b", "a{1,900}a{1,900}a{1,900}a{1,900}b", "a{9}{9}",
    r"(a)\1\1", r"(?<x>a\g<x>?)", "(?x)(a+) +$", "[a[b](a+)+", "a" * 2000,
]  # fmt: skip
LONG_PIECE = [["a" * 5000, 0.0]]
HOSTILE = {
    **{f"pattern {pattern[:20]}": split(pattern) for pattern in SLOW},
    **{f"normalizer {pattern[:20]}": sequence(replace(pattern, "", "Regex")) for pattern in SLOW[:2]},
    "growth": sequence(*[replace("a", "a" * 1000)] * 4),
    "growth of one": {"normalizer": replace("a", "a" * 1000)},
    "growth by small steps": sequence(*[replace("a", "aa")] * 20),
    "growth by a pattern": sequence(*[replace("", "aaaaaaaa", "Regex")] * 4),
    "growth of tokens": {"decoder": {"type": "Sequence", "decoders": [replace("a", "a" * 1000)] * 4}},
    "growth by a map": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap(b"a" * 1000)}},
    "nested": sequence(sequence(*[replace("a", "a" * 9)] * 3)["normalizer"]),
    "an empty pattern": {"normalizer": replace("", "a")},
    "many parts": sequence(*[{"type": "NFC"}] * 40),
    "an unknown part": {"pre_tokenizer": {"type": "Surprise"}},
    "long words": {"model": {"type": "WordPiece", "vocab": VOCABULARY, "max_input_chars_per_word": 10**6}},
    "long pieces": {"model": {"type": "Unigram", "vocab": LONG_PIECE, "unk_id": 0}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_would_take_too_long_or_too_much_is_refused_unread(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(described(**HOSTILE[name])))
    monkeypatch.setattr("tokenizers.Tokenizer", None)
    with pytest.raises(GradlabError, match=r"tokenizer\.json is damaged: its .*Take the tokenizer from"):
        Tokenizer.load(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("name", KNOWN)
def test_the_parts_of_known_families_are_loaded(name: str) -> None:
    tokenizer = Tokenizer.from_json(json.dumps(described(**KNOWN[name])))
    assert len(tokenizer.encode("abc"))


@pytest.mark.parametrize(("kind", "size"), [("byte", None), ("char", None), ("word", None), ("bpe", 300)])
def test_our_own_kinds_are_loaded(kind: str, size: int | None) -> None:
    texts = ["the quick brown fox, (jumps) over the lazy dog.\n" * 9]
    tokenizer = Tokenizer.train(kind, texts, vocabulary=size, special=["<eos>"])
    assert Tokenizer.from_json(tokenizer.to_json()).encode(texts[0]).tolist() == tokenizer.encode(texts[0]).tolist()


def test_a_text_is_neither_cut_short_nor_filled_up() -> None:
    plain = described()
    cut = copy.deepcopy(plain)
    cut["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    cut["padding"] = {
        "strategy": {"Fixed": 1000},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "a",
    }
    text = "abc abc abc"
    one, other = (Tokenizer.from_json(json.dumps(each)) for each in (plain, cut))
    assert one.encode(text).tolist() == other.encode(text).tolist()
    assert one.key() == other.key()


def test_a_panic_of_the_library_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern beyond its bounds panics at a text that makes it slow."""
    monkeypatch.setattr("gradlab.data.text.tokenizer.check_foreign", lambda content, where: None)
    tokenizer = Tokenizer.from_json(json.dumps(described(**split("(a+)+$"))))
    with pytest.raises(GradlabError, match=r"The tokenizer fails on this text: .*Take another one"):
        tokenizer.encode("a" * 60 + "b")


def test_the_check_names_the_part() -> None:
    with pytest.raises(GradlabError, match=r"its pre_tokenizer has a pattern, '\(a\+\)\+\$', which repeats a group"):
        check_foreign(described(**split("(a+)+$")), "tokenizer.json")
