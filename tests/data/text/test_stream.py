"""A corpus as one mapped array of tokens, in the cache."""

import json
import os
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradlab.data.text import documents, stream
from gradlab.data.text.corpus import Corpus, text_files
from gradlab.data.text.documents import Document
from gradlab.data.text.stream import tokenised
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.errors import GradlabError

TEXTS = ["One text.\nIt has lines.", "Another, with é and € in it.\n" * 9, "x"]


def corpus_of(*contents):
    return Corpus(name="given", documents=[Document.of(str(i), text) for i, text in enumerate(contents)])


def make(kind, corpus, **options):
    return Tokenizer.train(kind, corpus.pieces(), special=["<eos>"], **options)


@pytest.mark.parametrize("kind", ["byte", "char", "word", "bpe"])
@pytest.mark.parametrize("eos", [False, True])
def test_documents_follow_each_other_and_keep_their_borders(kind, eos):
    corpus = corpus_of(*TEXTS)
    tokenizer = make(kind, corpus)
    tokens = tokenised(corpus, tokenizer, eos=eos)
    ends = [*tokens.starts[1:], len(tokens)]
    for text, start, stop in zip(TEXTS, tokens.starts, ends, strict=True):
        expected = [*tokenizer.encode(text), *([tokenizer["<eos>"]] if eos else [])]
        assert tokens.ids[start:stop].tolist() == expected
    assert isinstance(tokens.ids, np.memmap)
    assert tokens.ids.dtype == {"byte": np.uint16, "bpe": np.uint16}.get(kind, np.uint8)


def test_numbers_are_as_small_as_the_vocabulary_allows():
    assert tokenised(corpus_of("any"), Tokenizer.train("byte", ["any"])).ids.dtype == np.uint8
    many = "".join(map(chr, range(0x1000, 0xD000))) + "".join(map(chr, range(0x10000, 0x18000)))
    tokens = tokenised(corpus_of(many), Tokenizer.train("char", [many]))
    assert tokens.ids.dtype == np.uint32
    assert tokens.ids.tolist() == list(range(1, len(many) + 1))


@pytest.mark.parametrize("kind", ["byte", "char", "bpe"])
def test_statistics_are_those_of_the_text(kind):
    corpus = corpus_of(*TEXTS)
    tokenizer = make(kind, corpus)
    tokens = tokenised(corpus, tokenizer, eos=True)
    whole, found = "".join(TEXTS), tokens.statistics
    assert (found.documents, found.characters, found.bytes) == (3, len(whole), len(whole.encode()))
    assert found.bytes == tokenizer.bytes_of(tokens.ids)
    assert found.tokens == len(tokens)
    assert found.used == len(set(tokens.ids.tolist()))
    assert found.unknown == 0


def test_unknown_tokens_are_counted():
    tokens = tokenised(corpus_of("abcdabcd"), Tokenizer.train("char", ["aab"]))
    assert (tokens.statistics.unknown, tokens.statistics.used) == (4, 3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.lists(st.text("ab .\n\té", max_size=30), min_size=1, max_size=5).filter(any),
    kind=st.sampled_from(["char", "word", "bpe"]),
    together=st.integers(1, 30),
    piece=st.integers(1, 6),
)
def test_pieces_of_any_size_give_the_same_tokens(cache, contents, kind, together, piece):
    corpus = corpus_of(*contents)
    tokenizer = make(kind, corpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADLAB_CACHE", str(cache / f"{together}-{piece}"))
        patch.setattr(stream, "_TOGETHER", together)
        patch.setattr(documents, "_PIECE", piece)
        tokens = tokenised(corpus, tokenizer)
    expected = [tokenizer.inner.encode(text).ids for text in contents]
    assert tokens.ids.tolist() == [i for ids in expected for i in ids]
    assert tokens.starts.tolist() == np.cumsum([0, *map(len, expected[:-1])]).tolist()


def test_the_cache_is_used_again_for_the_same_content_and_tokenizer(tmp_path, cache, monkeypatch):
    (tmp_path / "a.txt").write_text("some text")
    tokenizer = Tokenizer.train("char", ["some text"], special=["<eos>"])
    first = tokenised(text_files(tmp_path / "a.txt"), tokenizer)
    (tmp_path / "a.txt").rename(tmp_path / "b.txt")
    with monkeypatch.context() as patch:
        patch.setattr(Tokenizer, "encode_many", None)
        second = tokenised(text_files(tmp_path / "b.txt"), tokenizer)
    assert second.key == first.key
    others = [
        tokenised(text_files(tmp_path / "b.txt"), tokenizer, eos=True),
        tokenised(text_files(tmp_path / "b.txt"), Tokenizer.train("byte", ["x"])),
        tokenised(corpus_of("some text!"), tokenizer),
    ]
    assert len({first.key, *(other.key for other in others)}) == 4
    assert len(list((cache / "text").iterdir())) == 4


def test_splits_are_arrays_of_their_own_that_make_up_the_whole():
    corpus = corpus_of("".join(f"line {i}\n" for i in range(500)))
    tokenizer = make("char", corpus)
    parts = [tokenised(split, tokenizer) for split in corpus.divide(0.1, 0.1)]
    assert np.concatenate([part.ids for part in parts]).tolist() == tokenised(corpus, tokenizer).ids.tolist()
    assert len({part.key for part in parts}) == 3


def test_an_end_that_the_tokenizer_does_not_have_is_told():
    with pytest.raises(GradlabError, match=r"not '<eos>'\. Ask for it"):
        tokenised(corpus_of("text"), Tokenizer.train("char", ["text"]), eos=True)


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_a_corpus_without_text_is_told_and_leaves_nothing(tmp_path, cache, content):
    (tmp_path / "a.txt").write_bytes(content)
    corpus = Corpus(name="mine", documents=[Document.at(tmp_path / "a.txt")])
    with pytest.raises(GradlabError, match="mine is empty"):
        tokenised(corpus, Tokenizer.train("byte", ["x"]))
    assert not list((cache / "text").iterdir())


def test_bad_bytes_are_told_and_leave_nothing(tmp_path, cache):
    (tmp_path / "a.txt").write_bytes(b"good\xff")
    with pytest.raises(GradlabError, match=r"a\.txt is not UTF-8: byte 4"):
        tokenised(text_files(tmp_path), Tokenizer.train("byte", ["x"]))
    assert not list((cache / "text").iterdir())


def test_a_file_that_changes_meanwhile_is_told_and_leaves_nothing(tmp_path, cache, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("some text")
    tokenizer = Tokenizer.train("char", ["some text"])
    real = Tokenizer.encode_many

    def changing(self, texts, unknown="mark"):
        path.write_text("other text")
        os.utime(path, ns=(1, 1))
        return real(self, texts, unknown)

    monkeypatch.setattr(Tokenizer, "encode_many", changing)
    with pytest.raises(GradlabError, match=r"a\.txt changed while it was read"):
        tokenised(text_files(path), tokenizer)
    assert not list((cache / "text").iterdir())


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("tokens.npy", lambda p: p.write_bytes(p.read_bytes()[:-3])),
        ("tokens.npy", lambda p: p.unlink()),
        ("starts.npy", lambda p: p.write_bytes(b"")),
        ("text.json", lambda p: p.write_text("{}")),
        ("text.json", lambda p: p.write_text(json.dumps({"documents": 1})[:-2])),
    ],
)
def test_a_damaged_cache_is_told_and_the_text_encoded_again(name, damage, capsys):
    corpus, tokenizer = corpus_of("some text"), Tokenizer.train("char", ["some text"])
    tokens = tokenised(corpus, tokenizer)
    damage(stream.cache_folder("text", tokens.key) / name)
    again = tokenised(corpus, tokenizer)
    assert tokenizer.decode(again.ids) == "some text"
    assert again.starts.tolist() == [0]
    assert "is damaged" in capsys.readouterr().err


def test_long_work_is_told_to_its_end(monkeypatch, capsys):
    corpus = corpus_of("some text and more\n" * 10_000)
    monkeypatch.setattr(stream, "_LARGE", 1000)
    monkeypatch.setattr(stream, "_TOGETHER", 50_000)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    told = []
    real = stream._Encoding

    def listened(corpus, tokenizer, eos, tell):
        return real(corpus, tokenizer, eos, lambda done: (told.append(done), tell(done)))

    monkeypatch.setattr(stream, "_Encoding", listened)
    tokenised(corpus, Tokenizer.train("byte", ["x"]))
    assert "Encoding given (0 MB), once: it will be in" in capsys.readouterr().err
    assert told == sorted(told)
    assert len(told) >= 3
    assert told[-1] == corpus.size
