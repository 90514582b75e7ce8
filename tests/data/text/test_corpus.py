"""Files, folders and Python's own texts as documents in a fixed order, and their division."""

import sysconfig
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gradlab.data.text.corpus import Corpus, pydoc_topics, stdlib_source, text_files
from gradlab.data.text.documents import Document
from gradlab.errors import GradlabError


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "b.txt": "bee",
        "a/z.txt": "zed",
        "a.txt": "ay",
        "a/b/c.txt": "sea",
        "notes.md": "note",
        "empty.txt": "",
        ".hidden.txt": "dot",
        ".git/x.txt": "git",
    }.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "texts"


def texts(corpus):
    return [document.read() for document in corpus]


def test_a_folder_is_its_text_files_in_order_of_their_paths(folder):
    assert texts(text_files(folder)) == ["sea", "zed", "ay", "bee"]
    assert texts(text_files(folder, (".md", ".txt"))) == ["sea", "zed", "ay", "bee", "note"]
    assert "".join(text_files(folder).pieces()) == "seazedaybee"


def test_a_file_is_read_whatever_its_name(folder):
    corpus = text_files(str(folder / "notes.md"))
    assert texts(corpus) == ["note"]
    assert corpus.size == 4
    assert len(corpus) == 1


@pytest.mark.parametrize(
    ("path", "suffixes", "words"),
    [
        ("nowhere", [".txt"], "neither a file nor a folder"),
        (".", [".rst", ".tex"], r"no file in it that ends in \.rst or \.tex"),
        ("empty.txt", [".txt"], r"empty\.txt is empty"),
        (".", ["pty.txt"], "texts is empty"),
    ],
)
def test_what_has_no_text_in_it_is_refused(folder, path, suffixes, words):
    with pytest.raises(GradlabError, match=words) as caught:
        text_files(folder / path, suffixes)
    assert "\n" not in str(caught.value)


def corpus_of(*contents):
    return Corpus(name="given", documents=[Document.of(str(i), text) for i, text in enumerate(contents)])


def test_the_key_depends_on_content_and_on_where_documents_end():
    assert corpus_of("ab", "c").key() == corpus_of("ab", "c").key()
    assert corpus_of("ab", "c").key() != corpus_of("a", "bc").key()
    assert corpus_of("ab", "c").key() != corpus_of("c", "ab").key()


CONTENTS = st.lists(st.text("ab\n€", min_size=1, max_size=60), min_size=1, max_size=8)


@given(CONTENTS, st.floats(0, 0.4), st.floats(0, 0.4))
def test_splits_have_all_of_the_text_once_and_in_order(contents, validation, test):
    corpus = corpus_of(*contents)
    try:
        splits = corpus.divide(validation, test)
    except GradlabError:  # too short
        assume(False)
    assert "".join(piece for split in splits for piece in split.pieces()) == "".join(corpus.pieces())
    assert [bool(split.documents) for split in splits] == [True, validation > 0, test > 0]


def test_a_cut_is_between_documents_where_they_have_a_border_nearby_and_else_before_a_line():
    many = corpus_of(*(f"document {i}\n" * 20 for i in range(100)))
    train, validation, test = many.divide(0.1, 0.1)
    assert [len(split) for split in (train, validation, test)] == [80, 10, 10]
    assert train.documents == many.documents[:80]
    lines = "".join(f"line {i}\n" for i in range(1000))
    one = corpus_of(lines)
    parts = [split.documents[0].read() for split in one.divide(0.1, 0.2)]
    assert "".join(parts) == lines
    assert all(part.startswith("line ") and part.endswith("\n") for part in parts)
    assert [round(len(part) / len(lines), 2) for part in parts] == [0.7, 0.1, 0.2]


def test_a_small_share_of_one_document_is_not_lost_at_its_end():
    sizes = [split.size for split in corpus_of("line\n" * 10_000).divide(0.004, 0.004)]
    assert sizes == [49_600, 200, 200]


def test_shares_of_none_are_empty_and_those_of_all_are_refused():
    assert [len(split) for split in corpus_of("text").divide(0.0, 0.0)] == [1, 0, 0]
    for shares in [(0.5, 0.5), (-0.1, 0.2), (0.9, 0.3)]:
        with pytest.raises(GradlabError, match="leave nothing to train on"):
            corpus_of("text").divide(*shares)
    with pytest.raises(GradlabError, match="too short to be divided: of its 4 bytes"):
        corpus_of("text").divide(0.1, 0.1)


def test_the_topics_of_help_are_english_text_in_order():
    corpus = pydoc_topics()
    names = [document.name for document in corpus]
    assert names == sorted(names)
    assert "lambda" in names
    assert corpus.size > 300_000
    assert "anonymous functions" in next(d for d in corpus if d.name == "lambda").read()
    assert corpus.key() == pydoc_topics().key()


def test_the_standard_library_is_source_without_tests_in_order():
    root = Path(sysconfig.get_paths()["stdlib"])
    corpus = stdlib_source()
    names = [Path(document.name).relative_to(root).parts for document in corpus]
    assert names == sorted(names)
    assert {("argparse.py",), ("json", "decoder.py")} <= set(names)
    assert not any({"test", "tests", "site-packages", "pydoc_data"} & set(name) for name in names)
    assert corpus.size > 5_000_000


def test_the_standard_library_has_a_limit_in_whole_files():
    corpus = stdlib_source(limit=200_000)
    assert corpus.documents == stdlib_source().documents[: len(corpus)]
    assert corpus.size <= 200_000 < stdlib_source(limit=10**6).size
    with pytest.raises(GradlabError, match="within the limit of 10 bytes"):
        stdlib_source(limit=10)
