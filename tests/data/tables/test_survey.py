import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.tables import survey as module
from gradlab.data.tables.blocks import Block
from gradlab.data.tables.survey import Survey
from gradlab.errors import GradlabError

ANY = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.integers(-5, 5).map(str),
    st.sampled_from(["", "NA", "a", "b", "2024-02-29", "29.02.2024", "inf"]),
)


def surveyed(texts, name="column", decimal=".", chunk=None):
    """A column of these texts, a few at a time; again where it turns out to be something else than it seemed."""
    found = passed(Survey(name, decimal), texts, chunk)
    return passed(found.again(), texts, chunk) if len(found.forms) > 1 else found


def passed(found, texts, chunk):
    size = chunk or max(1, len(texts))
    for start in range(0, len(texts), size):
        block = Block([texts[start : start + size]], range(start + 2, len(texts) + 2)[:size])
        (values,), (found_numbers,) = block.numbers([0], found.decimal)
        if found_numbers and not found.as_text:
            found.add_numbers(values, block, 0)
        else:
            found.as_text = True
            found.add_texts(block.columns[0], block, 0)
    return found


@given(st.lists(ANY, max_size=30), st.integers(1, 30))
def test_what_a_column_is_does_not_depend_on_where_it_is_cut(texts, chunk):
    whole, cut = surveyed(texts), surveyed(texts, chunk=chunk)
    for seen in ("present", "missing", "first_missing", "counts", "not_a_number", "low", "high", "whole", "distinct"):
        assert getattr(cut, seen) == getattr(whole, seen), seen
    kind = whole.kind()
    assert cut.kind() == kind
    assert cut.identifier(kind) == whole.identifier(kind)
    assert cut.column(kind, "input") == whole.column(kind, "input")
    if kind == "number":
        assert cut.too_large == whole.too_large


@pytest.mark.parametrize(
    ("texts", "kind", "note"),
    [
        (["1", "2.5", "-3e2"], "number", "-300 to 2.5"),
        (["1", "", "3"], "number", "1 to 3; 1 missing"),
        (["red", "blue", "red"], "category", "red, blue"),
        (["red", "?", "blue", "red", "4"], "category", "red, blue, 4; 1 missing"),
        (list("abcda"), "category", "a, b, c, … (4 in all)"),
        (["2024-02-29", "2023-01-01"], "date", "2023-01-01 to 2024-02-29 (ISO 8601)"),
        (["2024-02-29 12:00", "", "2023-01-01"], "date", "2023-01-01 to 2024-02-29 12:00 (ISO 8601); 1 missing"),
        (["29.02.2024", "1.3.2024"], "date", "29.02.2024 to 1.3.2024 (%d.%m.%Y)"),
        (["02/29/2024", "03/01/2024"], "date", "02/29/2024 to 03/01/2024 (%m/%d/%Y)"),
        (["29/02/2024", "01/03/2024"], "date", "29/02/2024 to 01/03/2024 (%d/%m/%Y)"),
        (["2024/02/29"], "date", "2024/02/29 to 2024/02/29 (%Y/%m/%d)"),
        (["29-02-2024"], "date", "29-02-2024 to 29-02-2024 (%d-%m-%Y)"),
        (["2024-02-29", "29.02.2024"], "category", "2024-02-29, 29.02.2024"),
        (["2024-02-29", "soon"], "category", "2024-02-29, soon"),
        (["30.02.2024"], "category", "30.02.2024"),
    ],
)
def test_numbers_categories_and_dates_are_told_apart(texts, kind, note):
    found = surveyed(texts)
    assert found.kind() == kind
    column = found.column(kind, "input")
    assert (column.kind, column.note) == (kind, note)
    assert column.values == (sorted({t for t in texts if t not in ("", "?")}) if kind == "category" else [])


def test_european_numbers_are_numbers_where_the_comma_is_the_decimal_point():
    texts = ["1,5", "2", "-0,25"]
    assert surveyed(texts, decimal=",").kind() == "number"
    assert surveyed(texts, decimal=",").column("number", "input").note == "-0.25 to 2"
    assert surveyed(texts).column("number", "input").note == "-0.25 to 2, written as 1,5"


def test_the_range_of_dates_is_right_beyond_what_is_counted(monkeypatch):
    monkeypatch.setattr(module, "_MOST_VALUES", 10)
    texts = ["1850-01-01", *(f"{year}-05-01" for year in range(1900, 2000)), *["1950-05-01"] * 10]
    assert surveyed(texts, chunk=7).column("date", "input").note == "1850-01-01 to 1999-05-01 (ISO 8601)"


@pytest.mark.parametrize(
    ("name", "texts", "reason"),
    [
        ("name", [f"n{i}" for i in range(12)], "a different text in every row"),
        ("name", [f"n{i}" for i in range(9)], ""),
        ("name", [f"n{i % 60}" for i in range(100)], "60 different texts in 100 rows"),
        ("name", [f"n{i % 60}" for i in range(200)], ""),
        ("row", [str(i) for i in range(3, 20)], "it counts the rows"),
        ("row", [str(i) for i in range(3, 9)], ""),
        ("size", [str(i * i) for i in range(12)], ""),
        ("user_id", [str(i * i) for i in range(12)], "a different whole number in every row"),
        ("ID", [str(i * i) for i in range(12)], "a different whole number in every row"),
        ("user_id", [str(i % 6) for i in range(12)], ""),
        ("user_id", [str(i * i + 0.5) for i in range(12)], ""),
        ("grid", [str(i * i) for i in range(12)], ""),
    ],
)
def test_a_column_that_only_names_its_rows_is_recognised(name, texts, reason):
    found = surveyed(texts, name)
    assert found.identifier(found.kind()) == reason


@pytest.mark.parametrize(("texts", "kind"), [(["a", "b"] * 40, "category"), (["1.5", "2"] * 40, "number")])
def test_what_repeats_is_no_identifier(texts, kind):
    assert surveyed(texts, "id").identifier(kind) == ""


def test_numbers_that_begin_again_do_not_count_the_rows():
    texts = [str(i) for i in range(10)]
    assert surveyed(texts * 2, chunk=20).identifier("number") == ""
    assert surveyed(texts * 2, chunk=10).identifier("number") == ""


def test_too_many_different_texts_are_not_counted_for_ever(monkeypatch):
    monkeypatch.setattr(module, "_MOST_VALUES", 100)
    found = surveyed([f"n{i}" for i in range(5000)], chunk=50)
    assert found.identifier("category") == "more than 100 different texts"
    assert found.distinct <= 150
    numbers = surveyed([str(i * i) for i in range(5000)], "id", chunk=50)
    assert numbers.identifier("number") == "more than 100 different whole numbers"
    assert surveyed([str(i * i) for i in range(5000)], "size", chunk=50).identifier("number") == ""


def test_the_texts_of_a_column_that_is_not_used_are_not_kept():
    found = surveyed(["Ada", "Grace"])
    assert found.column("category", "left out").values == []
    assert found.column("category", "group").values == []


@pytest.mark.parametrize(
    ("texts", "classes"),
    [
        (["10", "2", "10", "1"], ["1", "2", "10"]),
        (["1", "1.0", "01", "0"], ["0", "1"]),
        (["-1", "1", "-0", "0"], ["-1", "0", "1"]),
        (["b", "a", "", "b"], ["a", "b"]),
        (["1.5", "2"], None),
        ([str(i) for i in range(20)], [str(i) for i in range(20)]),
        ([str(i) for i in range(21)], None),
    ],
)
def test_few_whole_numbers_and_texts_are_classes_and_other_numbers_a_quantity(texts, classes):
    found = surveyed(texts)
    assert found.classes(found.kind()) == classes


def refused(found, kind, forced=False):
    with pytest.raises(GradlabError) as caught:
        found.check(kind, forced, "t.csv")
    return str(caught.value)


def test_a_column_without_a_value_is_refused():
    assert "t.csv: column 'column' has no value in any row. Leave it out: data.drop=column" in refused(
        surveyed(["", "NA", "-"]), "number"
    )


def test_a_text_among_numbers_is_refused_by_line_column_and_value_unless_they_are_categories():
    found = surveyed(["1", "2", "", "2.5", "oops", "3"], chunk=2)
    said = refused(found, "category")
    assert "t.csv, line 6, column 'column': 'oops' is not a number, but 4 of the 5 values are." in said
    assert "data.categories=column" in said
    found.check("category", True, "t.csv")
    surveyed(["1", "a", "b", "c"]).check("category", False, "t.csv")


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e400", "1e39"])
def test_a_number_that_is_not_finite_in_single_precision_is_refused_by_line_column_and_value(text):
    found = surveyed(["1", "", "2", text, "inf"], chunk=2)
    expected = f"t.csv, line 5, column 'column': {text} is not a finite number of single precision."
    assert expected in refused(found, "number")
