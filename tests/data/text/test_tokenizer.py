"""Text to token numbers and back, by the library and by tables; what the library reads of what is saved."""

import json
from collections import Counter

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.text import tokenizer as module
from gradlab.data.text.corpus import pydoc_topics
from gradlab.data.text.kinds import SPECIAL, byte_characters
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.errors import GradlabError

KINDS = ["byte", "char", "word", "bpe"]
LOSSLESS = ["byte", "char", "bpe"]
ALPHABET = "aábc€😀 .\n\t'\r\u00a0\u2003\x1c\x85\u200b\u180e!?9_"
TEXT = st.text(ALPHABET)
ANY = st.text(st.characters(exclude_categories=["Cs"]))
BLANKS = st.text("ab. \n\t\u00a0\x1c'", min_size=8, max_size=40)
SAMPLE = ["abc caább.\n" * 5 + ALPHABET, "a 'b' c: 99 €!? " + "😀😀\n\n\n   a\n\n b\n  a" * 3]


@pytest.fixture(scope="module")
def made():
    """A tokenizer of each kind, with every special token, for the same texts."""
    return {
        kind: Tokenizer.train(kind, SAMPLE, special=SPECIAL, vocabulary=300 if kind == "bpe" else None)
        for kind in KINDS
    }


@pytest.mark.parametrize("kind", LOSSLESS)
@given(text=TEXT)
def test_text_of_known_characters_comes_back(made, kind, text):
    assert made[kind].decode(made[kind].encode(text)) == text


@pytest.mark.parametrize("kind", ["byte", "bpe"])
@given(text=ANY)
def test_no_text_is_unknown_to_tokenizers_of_bytes(made, kind, text):
    ids = made[kind].encode(text, unknown="refuse")
    assert made[kind].decode(ids) == text
    assert made[kind].bytes_of(ids) == len(text.encode())


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(TEXT, ANY))
def test_encoding_is_that_of_the_library_for_what_was_saved(made, kind, text):
    theirs = tokenizers.Tokenizer.from_str(made[kind].to_json())
    theirs.encode_special_tokens = True  # for a text such as "<pad>"
    ids = made[kind].encode(text)
    assert ids.dtype == np.int64
    assert ids.tolist() == theirs.encode(text).ids
    assert made[kind].decode(ids, special=True) == theirs.decode(ids.tolist(), skip_special_tokens=False)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(TEXT, BLANKS), size=st.integers(1, 6))
def test_a_text_cut_at_borders_has_the_tokens_of_the_whole(made, kind, text, size):
    whole = made[kind].inner.encode(text).ids
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PART", size)
        assert made[kind].encode(text).tolist() == whole


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(TEXT, max_size=5))
def test_many_are_encoded_as_each(made, kind, texts):
    many = made[kind].encode_many(texts)
    assert [ids.tolist() for ids in many] == [made[kind].encode(text).tolist() for text in texts]


@pytest.mark.parametrize("kind", LOSSLESS)
@given(text=TEXT, data=st.data())
def test_the_bytes_of_any_range_of_tokens_are_counted(made, kind, text, data):
    tokenizer, ids = made[kind], made[kind].encode(text)
    cut = data.draw(st.integers(0, len(ids)))
    assert tokenizer.bytes_of(ids[:cut]) + tokenizer.bytes_of(ids[cut:]) == len(text.encode())
    assert b"".join(tokenizer.tokens[i] for i in ids) == text.encode()
    assert all(tokenizer.byte_counts[i] == 0 for i in tokenizer.special.values())


@given(text=st.text("ab \n\t.,;:!?()[]{}'\"-"))
def test_words_that_come_back_are_the_same_words(made, text):
    tokenizer = made["word"]
    ids = tokenizer.encode(text)
    known = ids[ids != tokenizer["<unk>"]]
    assert tokenizer.encode(tokenizer.decode(known)).tolist() == known.tolist()


def test_words_come_back_with_the_blanks_of_english():
    text = "Yes, he said (twice).\nWhy not? It is: fine!"
    tokenizer = Tokenizer.train("word", [text])
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.decode(tokenizer.encode("  Yes ,\n  he said")) == "Yes,\nhe said"


def test_byte_tokens_are_the_bytes():
    tokenizer = Tokenizer.train("byte", ["any"])
    assert len(tokenizer) == 256
    assert tokenizer.encode("né\n").tolist() == list("né\n".encode())
    assert tokenizer.tokens == [bytes([i]) for i in range(256)]
    assert set(byte_characters()) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())


def test_special_tokens_have_the_first_numbers_in_a_fixed_order():
    for kind in KINDS:
        tokenizer = Tokenizer.train(kind, SAMPLE, special=["<mask>", "<eos>"])
        names = ["<unk>", "<eos>", "<mask>"] if kind in ("char", "word") else ["<eos>", "<mask>"]
        assert tokenizer.special == {name: i for i, name in enumerate(names)}
        assert tokenizer["<mask>"] == len(names) - 1
        with pytest.raises(GradlabError, match=r"but not '<pad>'\. Ask for it: special=\['<pad>'\]"):
            tokenizer["<pad>"]


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_special_tokens_in_a_text_are_text(made, kind):
    ids = made[kind].encode("a <eos> b<pad>")
    assert not {made[kind]["<eos>"], made[kind]["<pad>"]} & set(ids.tolist())
    again = Tokenizer.from_json(made[kind].to_json())
    assert again.encode("a <eos> b<pad>").tolist() == ids.tolist()


def test_numbers_that_a_vocabulary_leaves_out_stand_for_nothing():
    content = json.loads(Tokenizer.train("char", ["abc"]).to_json())
    content["model"]["vocab"]["c"] = 9
    tokenizer = Tokenizer.from_json(json.dumps(content))
    assert len(tokenizer) == 10
    assert tokenizer.encode("cab").tolist() == [9, content["model"]["vocab"]["a"], content["model"]["vocab"]["b"]]
    assert [tokenizer.tokens[number] for number in tokenizer.encode("cab")] == [b"c", b"a", b"b"]
    assert tokenizer.tokens[8] == b""


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_are_shown_only_when_asked_for(made, kind):
    tokenizer = made[kind]
    ids = [*tokenizer.encode("abc"), tokenizer["<eos>"]]
    assert tokenizer.decode(ids) == "abc"
    assert tokenizer.decode(ids, special=True).replace(" ", "") == "abc<eos>"


def test_the_most_frequent_characters_and_words_are_kept():
    text = "".join(character * (i + 1) for i, character in enumerate("zyxwv"))
    tokenizer = Tokenizer.train("char", [text], vocabulary=4)
    assert tokenizer.encode("vwxyz").tolist() == [1, 2, 3, 0, 0]
    words = " ".join(["one"] * 3 + ["two"] * 2 + ["three"])
    tokenizer = Tokenizer.train("word", [words], vocabulary=3)
    assert tokenizer.encode("one two three").tolist() == [1, 2, 0]


def test_a_real_text_gets_a_vocabulary_by_frequency():
    text = "".join(pydoc_topics().pieces())
    tokenizer = Tokenizer.train("word", [text], vocabulary=1000)
    counts = Counter(tokenizer.encode(text, unknown="mark").tolist())
    frequencies = [counts[i] for i in range(1, 1000)]
    assert frequencies == sorted(frequencies, reverse=True)
    pairs = Tokenizer.train("bpe", [text], vocabulary=1000)
    assert len(pairs) == 1000
    assert 2 < len(text) / len(pairs.encode(text)) < 6


@pytest.mark.parametrize("kind", KINDS)
def test_training_again_gives_the_same_tokenizer(kind):
    texts = list(pydoc_topics().pieces())[:20]
    one, other = (Tokenizer.train(kind, texts, vocabulary={"bpe": 500, "word": 500}.get(kind)) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert one.key() == other.key() != Tokenizer.train(kind, texts, special=["<pad>"]).key()


def test_words_and_pairs_are_learned_of_a_sample():
    texts = ["one two ", "three four"]
    assert len(Tokenizer.train("word", texts, sample=5)) == 3
    assert len(Tokenizer.train("word", texts)) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_tokenizer_is_read_back_here_and_by_the_library(made, kind, tmp_path):
    path = tmp_path / "tokenizer.json"
    made[kind].save(path)
    again, theirs = Tokenizer.load(path), tokenizers.Tokenizer.from_file(str(path))
    text = SAMPLE[0]
    assert again.kind == made[kind].kind == kind
    assert again.key() == made[kind].key()
    assert again.special == made[kind].special
    assert again.encode(text).tolist() == made[kind].encode(text).tolist() == theirs.encode(text).ids


def test_unknown_characters_are_marked_or_named():
    tokenizer = Tokenizer.train("char", ["abc"])
    assert tokenizer.encode("aẞc€").tolist() == [1, 0, 3, 0]
    with pytest.raises(GradlabError, match=r"does not have the characters 'ẞ', '€'\. Leave them out"):
        tokenizer.encode("aẞc€ẞ", unknown="refuse")
    with pytest.raises(GradlabError, match="and 16 more"):
        tokenizer.encode("".join(map(chr, range(ord("d"), ord("d") + 26))), unknown="refuse")
    with pytest.raises(GradlabError, match="does not have the words 'new'"):
        Tokenizer.train("word", ["old words"]).encode("old new words", unknown="refuse")
    with pytest.raises(GradlabError, match="bytes of unknown characters are not known"):
        tokenizer.bytes_of(tokenizer.encode("a€"))


def test_words_have_no_exact_bytes(made):
    with pytest.raises(GradlabError, match="Words do not keep the blanks"):
        made["word"].bytes_of(np.array([7]))


@pytest.mark.parametrize(
    ("kind", "vocabulary", "special", "words"),
    [
        ("subword", None, [], "There is no kind of tokenizer 'subword'. Did you mean 'word'?"),
        ("char", None, ["<end>"], "There is no special token '<end>'"),
        ("byte", 100, [], "A byte tokenizer has 256 tokens"),
        ("bpe", 256, [], "A vocabulary of 256 is too small for bpe: .* take 257"),
        ("bpe", 257, ["<eos>"], "take 258"),
        ("char", 1, [], "A vocabulary of 1 is too small for char: one char and 1 special tokens take 2"),
        ("word", 0, [], "A vocabulary of 0 is too small for word"),
    ],
)
def test_what_no_tokenizer_can_be_made_of_is_told(kind, vocabulary, special, words):
    with pytest.raises(GradlabError, match=words) as caught:
        Tokenizer.train(kind, ["text"], vocabulary=vocabulary, special=special)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_no_text_is_told(kind, texts):
    with pytest.raises(GradlabError, match="There is no text to make a tokenizer for"):
        Tokenizer.train(kind, texts)


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_character_is_told(made, kind):
    with pytest.raises(GradlabError, match=r"half a character at place 2 \(from 0\)"):
        made[kind].encode("ab\ud83d")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model": 3}', "null"])
def test_a_damaged_file_is_told(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(GradlabError, match=r"tokenizer\.json is damaged: .*must be a tokenizer\.json") as caught:
        Tokenizer.load(path)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_or_written_are_told(tmp_path, made):
    with pytest.raises(GradlabError, match=r"nowhere is damaged: it cannot be read .* must be a tokenizer"):
        Tokenizer.load(tmp_path / "nowhere")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(GradlabError, match=r"bytes is damaged: .* must be a tokenizer"):
        Tokenizer.load(tmp_path / "bytes")
    with pytest.raises(GradlabError, match="cannot be written"):
        made["byte"].save(tmp_path / "bytes" / "folder")


@pytest.mark.parametrize("ids", [[-1], [10**6], [0, 300]])
def test_numbers_that_are_no_tokens_are_told(made, ids):
    with pytest.raises(GradlabError, match="must be from 0 to 260"):
        made["byte"].decode(ids)


def test_a_tokenizer_of_another_make_is_run_as_it_is():
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab={"a": 0, "b": 1, "[U]": 2}, unk_token="[U]"))
    inner.normalizer = tokenizers.normalizers.Lowercase()
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = Tokenizer.from_json(inner.to_str())
    assert (tokenizer.kind, tokenizer.lossless, tokenizer.special) == ("other", False, {})
    assert tokenizer.encode("A b C", unknown="refuse").tolist() == [0, 1, 2]
    assert tokenizer.decode([0, 1]) == "a b"
    described = json.loads(Tokenizer.train("bpe", ["aab aab"], vocabulary=258).to_json())
    described["pre_tokenizer"]["add_prefix_space"] = True
    assert Tokenizer.from_json(json.dumps(described)).kind == "other"
