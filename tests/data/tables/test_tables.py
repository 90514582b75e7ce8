import json

import numpy as np
import pytest
from PIL import Image

from gradlab.errors import GradlabError

HOUSES = "size,colour,built,price\n50,red,2001-01-01,9\n60.5,blue,2002-01-01,8.5\n,red,2003-01-01,7\n80,,,6\n"
NEW = [[50, 1, 11323], [60.5, 0, 11688], [np.nan, -1, np.nan]]


@pytest.fixture
def reader(read_table):
    return read_table(HOUSES, target="price").reader


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("new.csv", "size,colour,built\n50,red,2001-01-01\n60.5,blue,2002-01-01\n,NA,\n"),
        ("new.csv", "built,size,colour,price\n2001-01-01,50,red,1\n2002-01-01,60.5,blue,\n,,-,\n"),
        ("new.txt", "size;colour;built\n50;red;2001-01-01\n60.5;blue;2002-01-01\n;;\n"),
        ("NEW.JSON", json.dumps([
            {"size": 50, "colour": "red", "built": "2001-01-01"},
            {"built": "2002-01-01", "size": 60.5, "colour": "blue", "price": None},
            {"size": None, "colour": None},
        ])),
    ],
)  # fmt: skip
def test_new_rows_are_read_by_the_names_of_their_columns(reader, tmp_path, name, content):
    (tmp_path / name).write_text(content)
    reading = reader.read(str(tmp_path / name))
    np.testing.assert_array_equal(reading.values, NEW)
    assert reading.names is None


def test_one_row_may_be_given_as_its_values_or_as_one_object(reader, tmp_path):
    for text in ("50,red,2001-01-01", '50, "red" , 2001-01-01', "50,red,2001-01-01\n"):
        np.testing.assert_array_equal(reader.read(text).values, NEW[:1])
    (tmp_path / "one.json").write_text('{"size": "50", "colour": "red", "built": "2001-01-01"}')
    np.testing.assert_array_equal(reader.read(str(tmp_path / "one.json")).values, NEW[:1])


def test_the_rows_of_training_are_read_again_as_they_were(read_table, tmp_path):
    raw = read_table(HOUSES, target="price")
    np.testing.assert_array_equal(raw.reader.read(str(tmp_path / "table.csv")).values, raw.inputs)


def test_a_file_in_the_encoding_and_with_the_separator_of_training_is_read(read_table, tmp_path):
    content = "größe:farbe:y\n1.5:grün:1\n2.5:rot:2.5\n3:grün:3\n".encode("latin-1")
    raw = read_table(content, separator=":", encoding="latin-1")
    np.testing.assert_array_equal(raw.reader.read(str(tmp_path / "table.csv")).values, raw.inputs)


def test_a_row_of_very_many_values_is_no_name_of_a_file(read_table):
    names = [f"x{i}" for i in range(500)]
    rows = "".join(",".join([*(str((i * j) % 7) for j in range(1, 501)), "ab"[i % 2]]) + "\n" for i in range(9))
    reader = read_table(f"{','.join(names)},y\n{rows}").reader
    assert reader.read(",".join(["2.5"] * len(reader.inputs))).values.tolist() == [[2.5] * len(reader.inputs)]
    with pytest.raises(GradlabError, match="neither a file nor one row of"):
        reader.read(",".join(["2.5"] * 600))


def test_an_unknown_category_is_told_and_counts_as_none(reader, tmp_path, capsys):
    (tmp_path / "new.csv").write_text("size,colour,built\n1,red,\n1,green,\n1,pink,\n")
    values = reader.read(str(tmp_path / "new.csv")).values
    assert values[:, 1].tolist() == [1, -2, -2]
    said = capsys.readouterr().err
    assert "line 3, column 'colour': 'green' did not occur in training (2 rows like it)" in said


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("new.csv", "size,colour,built,age\n1,red,,3\n", "has a column 'age' that training did not have. Remove it."),
        ("new.csv", "size,built\n1,\n", "has no column 'colour', which training had"),
        ("new.csv", "size,colour,built\n1,red,\nbig,red,\n", "new.csv, line 3, column 'size': 'big' is not a number"),
        ("new.csv", "size,colour,built\n1,red,soon\n", "line 2, column 'built': 'soon' is not a date of the form ISO"),
        ("new.csv", "size,colour,built\n", "has a line of column names, but no row below it"),
        ("new.csv", "size,colour,built\n1,red\n", "line 2: 2 values"),
        ("new.csv", "", "new.csv is empty"),
        ("new.json", "[]", "must hold an object, or a list of objects"),
        ("new.json", "[[1, 2]]", "must hold an object, or a list of objects"),
        ("new.json", "{", "new.json cannot be read"),
        ("new.json", "[" * 100_000, "new.json cannot be read"),
        ("new.json", "\ud800", "new.json cannot be read"),
        ("new.json", '{"size": 1, "colour": "red"}', "has no column 'built'"),
        ("new.json", '{"size": "big", "colour": "red", "built": null}', "object 0, column 'size': 'big' is not"),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_the_place(reader, tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content.encode(errors="surrogatepass"))
    with pytest.raises(GradlabError) as caught:
        reader.read(str(tmp_path / name))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("50,red", "50,red is neither a file nor one row of 3 values"),
        ("50,red,2001-01-01,4", "in this order: size, colour, built."),
        ("", "neither a file nor one row"),
        ("nowhere.csv", "nowhere.csv is not a file"),
        ("big,red,", "big,red,, column 'size': 'big' is not a number"),
        ("/", "neither a file nor one row"),
    ],
)
def test_what_is_no_row_is_refused(reader, text, says):
    with pytest.raises(GradlabError) as caught:
        reader.read(text)
    assert says in str(caught.value)


def test_a_picture_is_refused_as_one(reader, tmp_path):
    Image.new("L", (4, 4)).save(tmp_path / "photo.png")
    with pytest.raises(GradlabError, match=r"photo\.png is a picture, but this run was trained on a table"):
        reader.read(str(tmp_path / "photo.png"))
