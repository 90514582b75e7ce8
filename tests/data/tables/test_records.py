import codecs
import csv
import io
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gradlab.data.tables import records as records_module
from gradlab.data.tables.records import SEPARATORS, Records
from gradlab.errors import GradlabError

# What a file of text cannot hold: halves of pairs, the zero byte, and the line ends that reading makes alike.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\x85"), max_size=8)


def written(rows, separator=",", **options):
    """What Python's own writer makes of them."""
    file = io.StringIO()
    csv.writer(file, delimiter=separator, **options).writerows(rows)
    return file.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("records")


def read(folder, content, *options):
    path = folder / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    records = Records(path, *options)
    return records, [row for block in records for row in rows_of(block, records)]


def rows_of(block, records):
    return list(zip(*block.texts(range(len(records.names))), strict=True))


def refused(folder, content, *options):
    with pytest.raises(GradlabError) as caught:
        read(folder, content, *options)
    return str(caught.value)


@given(st.data(), st.integers(2, 4), st.sampled_from(SEPARATORS), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_any_table_of_texts_comes_back(folder, data, width, separator, quoted, end):
    names = [f"a{i}" for i in range(width)]
    rows = data.draw(st.lists(st.lists(TEXT, min_size=width, max_size=width), max_size=5))
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    content = written([names, *rows], separator, quoting=quoting, lineterminator=end)
    records, got = read(folder, content)
    assert records.names == names
    assert records.separator == separator
    assert got == [tuple(value.strip() for value in row) for row in rows]


@given(st.lists(TEXT.map(str.strip).filter(bool), min_size=2, max_size=4, unique=True))
def test_names_may_hold_anything_that_values_may(folder, names):
    assume(not all(name.replace(".", "").isnumeric() for name in names))
    try:
        records, _ = read(folder, written([names, names], quoting=csv.QUOTE_ALL))
    except GradlabError as error:
        assert "it holds numbers" in str(error)  # noqa: PT017
    else:
        assert records.names == names


@pytest.mark.parametrize("separator", SEPARATORS)
def test_the_separator_is_guessed_from_the_first_line_that_is_not_empty(folder, separator):
    others = "".join(s for s in SEPARATORS if s != separator)
    content = f"\n \n{separator.join(['a', f'{chr(34)}{others * 3}{chr(34)}', 'c'])}\n"
    assert read(folder, content)[0].separator == separator


@pytest.mark.parametrize(("given", "meant"), [("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), (":", ":")])
def test_a_separator_may_be_named(folder, given, meant):
    records, rows = read(folder, f"a{meant}b\n1,5{meant}2\n", given)
    assert records.separator == meant
    assert rows == [("1,5", "2")]


@pytest.mark.parametrize("separator", ["", ",,", "comma", '"', "\n"])
def test_a_separator_that_cannot_be_one_is_refused(folder, separator):
    assert f"data.separator={separator} is not one character" in refused(folder, "a,b\n", separator)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (codecs.BOM_UTF8 + "größe,y\n1,2\n".encode(), "utf-8"),
        ("größe,y\n1,2\n".encode(), "UTF8"),
        ("größe,y\n1,2\n".encode("latin-1"), "latin-1"),
        ("größe,y\n1,2\n".encode("utf-16"), "utf-16"),
        ("größe,y\n1,2\n".encode("cp1252"), "cp1252"),
    ],
)
def test_the_encoding_may_be_named_and_a_byte_order_mark_is_no_part_of_a_name(folder, content, encoding):
    assert read(folder, content, "auto", encoding)[0].names == ["größe", "y"]


def test_lines_without_a_value_are_passed_over_and_counted(folder):
    path = folder / "table.csv"
    path.write_text('\na,b\n\n1,2\n   \n"x\ny",3\n\n,\n4,5\n\n')
    records = Records(path)
    (block,) = records
    assert rows_of(block, records) == [("1", "2"), ("x\ny", "3"), ("", ""), ("4", "5")]
    assert [block.where(i) for i in range(4)] == ["line 4", "line 6", "line 9", "line 10"]


def test_a_column_without_a_name_is_called_by_its_place(folder):
    assert read(folder, "a,,b\n1,2,3\n")[0].names == ["a", "column 2", "b"]


@pytest.mark.parametrize("size", [8, 20, 1000])
def test_a_file_is_read_in_blocks_that_leave_nothing_out(folder, monkeypatch, size):
    monkeypatch.setattr(records_module, "_TOGETHER", size)
    path = folder / "table.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(30)))
    blocks = list(Records(path))
    assert (len(blocks) > 1) == (size < 1000)
    assert [line for block in blocks for line in block.lines] == list(range(2, 32))
    assert [value for block in blocks for value in block.texts([1])[0]] == [str(i * i) for i in range(30)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "table.csv is empty. It needs a first line with the names"),
        ("\n  \n\n", "table.csv is empty"),
        ("a,b,a\n1,2,3\n", "has two columns named 'a'"),
        ("1,2\n3,4\n", "the first line must name the columns, but it holds numbers: 1, 2."),
        ("a,b\n1,2\n\n3\n", "line 4: 1 values, but the first line names 2 columns"),
        ("a,b\n1,2,3\n", "line 2: 3 values, but the first line names 2 columns. Quote values that contain ','"),
        ('a,b\n1,2\n3,"4\n5,6\n', "line 3 or below: unexpected end of data. Is a quote not closed?"),
        ('a,b\n"1"2,3\n', "line 2 or below: ',' expected after '\"'"),
        (b"a,b\n1,2\n3,\0\n", "line 3: a zero byte stands there."),
        (b"a,b\n1,2\n\xe9,4\n", "line 3: the byte 0xe9 is not utf-8. Save it as UTF-8, or name its encoding"),
        (b"a,b\n" + b"1,2\n" * 9000 + b"\xff,4\n", "line 9002: the byte 0xff is not utf-8"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_the_place(folder, content, says):
    assert says in refused(folder, content)


@pytest.mark.parametrize("separator", ["auto", ","])
@pytest.mark.parametrize(
    ("encoding", "says"),
    [
        ("klingon", "data.encoding=klingon is no encoding of text"),
        ("hex", "data.encoding=hex is no encoding of text"),
        ("utf-16", "table.csv is not utf-16"),
        ("undefined", "table.csv is not undefined"),
        ("ascii", "line 1: the byte 0xc3 is not ascii"),
    ],
)
def test_an_encoding_that_does_not_fit_is_refused(folder, separator, encoding, says):
    assert says in refused(folder, "größe,y\n1,2\n", separator, encoding)


def test_a_file_that_cannot_be_read_is_named():
    with pytest.raises(GradlabError, match="nowhere cannot be read: No such file"):
        Records(Path("nowhere"))


@pytest.mark.parametrize("odd", [3, 4, 5, 8, 9])
@pytest.mark.parametrize("size", [8, 16, 1000])
@pytest.mark.parametrize("unusual", ['{i},"two\nlines"', "{i},x\n", '{i},3" nails'])
def test_no_record_is_lost_or_comes_twice_where_something_is_unusual(tmp_path, monkeypatch, odd, size, unusual):
    monkeypatch.setattr(records_module, "_TOGETHER", size)
    monkeypatch.setattr(records_module, "_RECORDS", 3)
    rows = [unusual.format(i=i) if i == odd else f"{i},x" for i in range(10)]
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
    blocks = list(Records(tmp_path / "t.csv"))
    assert [value for block in blocks for value in block.texts([0])[0]] == [str(i) for i in range(10)]
    want = [2 + i + (i > odd and "\n" in unusual) for i in range(10)]
    assert [line for block in blocks for line in block.lines] == want


REGULAR = [
    "a,b\n" + "".join(f"{i},x\n" for i in range(9)),
    "a,b\r\n" + "".join(f"{i},x\r\n" for i in range(9)),
    'a,"b"\n' + "".join(f'"{i}" , "x, ""y""\nz" \n'.replace('" ,', '",').replace('" \n', '"\n') for i in range(9)),
    "a;b\n" + "".join(f"{i},5 ; x\n" for i in range(8)) + "8;x",
]


@pytest.mark.parametrize("content", REGULAR)
@pytest.mark.parametrize("size", [32, 1000])
def test_a_regular_file_is_read_from_its_bytes_alone(folder, monkeypatch, content, size):
    def careful(self, done):
        raise AssertionError(f"record by record after {done}")

    with monkeypatch.context() as slow:
        slow.setattr(records_module, "cut", lambda *arguments: None)
        want = read(folder, content)[1]
    monkeypatch.setattr(records_module, "_TOGETHER", size)
    monkeypatch.setattr(records_module.Records, "_with_care", careful)
    assert read(folder, content)[1] == want
    assert len(want) == 9
