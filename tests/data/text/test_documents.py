"""Text is read piece by piece, and what is not UTF-8 is named to the byte."""

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.text import documents
from gradlab.data.text.documents import Document, cut
from gradlab.errors import GradlabError

BLOCKS = [1, 2, 3, 5, 2**16]
TEXT = st.text(st.one_of(st.sampled_from("a é€😀.\r\n\t\u00a0\x1c\u2003"), st.characters(exclude_categories=["Cs"])))
BLANKS = st.text("a. \n\t\u00a0\x1c\r", min_size=8, max_size=40)


@pytest.fixture(params=BLOCKS)
def block(request, monkeypatch):
    """Files are read so many bytes at a time."""
    monkeypatch.setattr(documents, "_BLOCK", request.param)


def written(tmp_path, content):
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    return Document.at(path)


@pytest.mark.usefixtures("block")
def test_a_text_is_read_as_python_reads_it(tmp_path):
    content = "One\r\ntwo\rthree\n\r\n€uro 😀\r".encode()
    document = written(tmp_path, content)
    with open(document.source, encoding="utf-8") as file:
        assert document.read() == file.read() == "One\ntwo\nthree\n\n€uro 😀\n"
    assert document.size == len(content)
    assert document.key() == hashlib.sha256(content).hexdigest()
    assert document.read() == document.read()


@pytest.mark.usefixtures("block")
def test_a_byte_order_mark_is_passed_over_at_the_start_alone(tmp_path):
    document = written(tmp_path, "\ufeffone \ufefftwo".encode())
    assert document.read() == "one \ufefftwo"
    assert document.part(7, document.size).read() == "\ufefftwo"


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize(
    ("content", "place", "byte"),
    [
        (b"abc\xff", 3, "ff"),
        (b"\x80abc", 0, "80"),
        ("né€".encode() + b"\xe2\x82", 6, "e2"),
        (b"ab\xe2\x82c", 2, "e2"),
        (b"\xef\xbb\xbfab\xe9", 5, "e9"),
        (b"line\r\n" * 30_000 + b"\xf0\x9f\x98", 180_000, "f0"),
        (b"x" * 65_535 + "é".encode() + b"\xa0", 65_537, "a0"),
    ],
)
def test_what_is_not_utf_8_is_told_with_its_place(tmp_path, content, place, byte):
    document = written(tmp_path, content)
    with pytest.raises(GradlabError) as caught:
        document.read()
    told = str(caught.value)
    assert told.startswith(f"{document.source} is not UTF-8: byte {place} (from 0) is 0x{byte}, ")
    assert "iconv -f ISO-8859-1 -t UTF-8" in told
    assert "\n" not in told


def test_the_place_is_that_in_the_file_also_for_a_part_of_it(tmp_path):
    document = written(tmp_path, b"0123456789\xff").part(4, 11)
    with pytest.raises(GradlabError, match=r"byte 10 \(from 0\)"):
        document.read()


def test_utf_16_is_recognised(tmp_path):
    with pytest.raises(GradlabError, match=r"byte 0 .*iconv -f UTF-16 "):
        written(tmp_path, "text".encode("utf-16")).read()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(GradlabError, match="missing cannot be read: No such file"):
        Document.at(tmp_path / "missing")
    document = written(tmp_path, b"text")
    document.source.unlink()
    with pytest.raises(GradlabError, match=r"text\.txt cannot be read: No such file"):
        document.read()


@given(st.one_of(TEXT, BLANKS), st.integers(1, 9), st.integers(1, 5), st.integers(1, 30))
def test_pieces_make_up_the_text_and_are_cut_at_borders_of_tokens(text, block, piece, more):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in [("_BLOCK", block), ("_PIECE", piece), ("_LONGEST", piece + more)]:
            patch.setattr(documents, name, value)
        pieces = list(Document.of("text", text))
    whole = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    assert "".join(pieces) == whole
    for one, other in pairwise(pieces):
        at_border = not one[-1].isspace() and other[0] in " \t\n"
        assert at_border or len(one) >= piece + more
        assert len(one) >= piece


@given(st.one_of(TEXT, BLANKS), st.integers(1, 6))
def test_parts_make_up_the_text_and_are_cut_at_borders_of_tokens(text, size):
    parts = list(cut(text, size))
    assert "".join(parts) == text
    for one, other in pairwise(parts):
        assert len(one) >= size
        assert not one[-1].isspace()
        assert other[0] in " \t\n"


def test_long_texts_come_in_pieces_of_bounded_length(tmp_path):
    words = written(tmp_path, b"word " * 100_000)
    assert [len(piece) for piece in words][:-1] == [65_539] + [65_540] * 6
    without = written(tmp_path, b"x" * 2_500_000)
    assert [len(piece) for piece in without] == [2**20, 2**20, 2_500_000 - 2**21]


@pytest.mark.parametrize(
    ("place", "expected"), [(-1, 0), (0, 0), (1, 4), (3, 4), (4, 4), (5, 8), (8, 8), (9, 12), (10, 12), (13, 12)]
)
def test_a_line_is_found_from_any_place(place, expected):
    assert Document.of("text", "abc\ndef\nghij").line_from(place) == expected


def test_where_no_line_begins_nearby_a_character_does(monkeypatch):
    monkeypatch.setattr(documents, "_BLOCK", 16)
    document = Document.of("text", "€" * 100)
    assert [document.line_from(place) for place in range(30, 34)] == [30, 33, 33, 33]
    assert document.line_from(299) == 300


def test_parts_of_parts_count_from_their_own_beginning():
    document = Document.of("text", "0123456789").part(2, 9).part(1, 4)
    assert (document.read(), document.size) == ("345", 3)
    assert document.key() == Document.of("other", "345").key()
