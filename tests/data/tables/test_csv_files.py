import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data import load, reader_of, sources
from gradlab.data.tables import csv_files
from gradlab.data.tables.columns import MISSING, MISSING_CODE
from gradlab.errors import GradlabError
from gradlab.registry import Part

HOUSES = """size,colour,built,price
50,red,2001-01-01,100.5
60,blue,2002-01-01,120.5
,red,2003-01-01,90.25
80,,2004-01-01,200
55.5,green,,110
"""


def columns(raw):
    """Each input by its name."""
    return {name: raw.inputs[:, i].tolist() for i, name in enumerate(raw.features)}


def uses(raw):
    return {c.name: c.use for c in raw.reader.columns}


def table(count, **made):
    """A file whose columns are functions of the row's number; `y` is a class unless it is made."""
    made = {"y": lambda i: "ab"[i % 2], **made}
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(made)
    writer.writerows([[make(i) for make in made.values()] for i in range(count)])
    return file.getvalue()


def test_numbers_categories_and_dates_become_numbers(read_table):
    raw = read_table(HOUSES, target="price")
    found = columns(raw)
    assert found["colour"] == [2, 0, 2, MISSING_CODE, 1]
    assert found["built"][:3] == [11323, 11688, 12053]
    np.testing.assert_array_equal(found["size"], [50, 60, np.nan, 80, 55.5])
    assert np.isnan(found["built"][4])
    assert raw.targets.tolist() == [100.5, 120.5, 90.25, 200, 110]
    assert raw.classes is None
    assert raw.categorical == ["colour"]
    assert raw.notes == [
        "1 missing value of 'size': filled with the training mean.",
        "1 missing value of 'colour': a category of their own.",
        "1 missing value of 'built': filled with the training mean.",
    ]


VALUES = st.one_of(
    st.floats(-1e30, 1e30).map(repr),
    st.sampled_from(["", "NA", "nan", "null"]),
    st.integers(-(10**6), 10**6).map(str),
)


@given(st.lists(st.tuples(VALUES, VALUES, st.sampled_from(["x", "y, z", 'a "b"', "ü\n", "NA"])), min_size=2))
def test_values_are_those_that_pandas_reads(tmp_path_factory, rows):
    pandas = pytest.importorskip("pandas")
    rows = [*rows, ("0.5", "1.5", "x"), ("-0.5", "2.5", "y, z")]
    path = tmp_path_factory.getbasetemp() / "judged.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("one", "two", "kind"), *rows])
    judge = pandas.read_csv(path)
    knobs = {"path": str(path), "target": "one", "numbers": ["one", "two"], "categories": ["kind"]}
    raw = sources.build(sources.resolve(Part("csv", knobs), "data"), 0)
    judge = judge[judge["one"].notna()]
    np.testing.assert_allclose(raw.targets, judge["one"].astype(float), rtol=1e-15)
    np.testing.assert_allclose(columns(raw)["two"], judge["two"].astype(float), rtol=1e-15)
    names = next(c.values for c in raw.reader.columns if c.name == "kind")
    kinds = [None if code == MISSING_CODE else names[int(code)] for code in columns(raw)["kind"]]
    assert kinds == [None if pandas.isna(kind) else kind.strip() for kind in judge["kind"]]


def test_a_european_file_is_read_with_its_separator_and_its_decimal_comma(read_table):
    raw = read_table("größe;preis\n1,5;10,25\n2,5;20\n-0,5;1e3\n", target="preis")
    assert raw.inputs.ravel().tolist() == [1.5, 2.5, -0.5]
    assert raw.targets.tolist() == [10.25, 20, 1000]
    assert raw.reader.read("2.5").values.tolist() == [[2.5]]


def test_columns_that_name_their_rows_or_are_constant_are_left_out_with_a_note(read_table):
    content = table(20, number=str, name=lambda i: f"n{i}", unit=lambda i: "kg", x=lambda i: i % 7)
    raw = read_table(content)
    assert raw.features == ["x"]
    assert uses(raw) == {"y": "target", "number": "left out", "name": "left out", "unit": "left out", "x": "input"}
    assert raw.notes == [
        "Left out 'number': it counts the rows. Use it anyway with data.keep=number",
        "Left out 'name': a different text in every row. Use it anyway with data.keep=name",
        "Left out 'unit': the same value in every row: kg. Use it anyway with data.keep=unit",
    ]
    assert read_table(content, keep=["name", "unit", "number"]).features == ["number", "name", "unit", "x"]
    assert read_table(content, numbers=["number"]).features == ["number", "x"]
    assert read_table(content, categories=["name"]).categorical == ["name"]


def test_a_column_with_one_value_and_gaps_says_something_and_is_kept(read_table):
    assert read_table(table(20, member=lambda i: "yes" if i % 3 else "", x=lambda i: i % 7)).features == ["member", "x"]


def test_columns_may_be_dropped_whatever_is_in_them(read_table):
    content = table(20, empty=lambda i: "", mixed=lambda i: i or "oops", endless=lambda i: "inf", x=lambda i: i % 7)
    raw = read_table(content, drop=["empty", "mixed", "endless"])
    assert raw.features == ["x"]
    assert raw.notes == []


def test_numbers_may_be_taken_as_categories(read_table):
    raw = read_table(table(20, zone=lambda i: i % 3, x=lambda i: i % 7), categories=["zone"])
    assert raw.categorical == ["zone"]
    assert columns(raw)["zone"][:4] == [0, 1, 2, 0]


def test_a_column_that_must_be_numbers_and_is_not_is_refused_by_line_and_value(read_table):
    with pytest.raises(GradlabError, match=r"line 4, column 'x': 'c' is not a number"):
        read_table(table(20, x=lambda i: "c" if i == 2 else i % 7), numbers=["x"])


@pytest.mark.parametrize(
    ("make", "classes"),
    [
        (lambda i: "cba"[i % 3], ["a", "b", "c"]),
        (lambda i: ["10", "9", "100"][i % 3], ["9", "10", "100"]),
        (lambda i: ["1", "1.0", "0"][i % 3], ["0", "1"]),
        (lambda i: i % 20, [str(i) for i in range(20)]),
        (lambda i: i % 21, None),
        (lambda i: i / 2, None),
    ],
)
def test_the_target_decides_between_classes_in_order_and_a_quantity(read_table, make, classes):
    raw = read_table(table(42, x=lambda i: i % 7, y=make))
    assert raw.classes == classes
    want = [float(make(i)) if classes is None else classes.index(f"{make(i)}".removesuffix(".0")) for i in range(42)]
    assert raw.targets.tolist() == want
    assert raw.targets.dtype == (np.float64 if classes is None else np.int64)


def test_a_task_may_ask_for_the_other_kind(read_table):
    whole = read_table(table(42, x=lambda i: i % 7, y=lambda i: i % 3 * 10))
    assert whole.wanted("numbers").targets[:4].tolist() == [0, 10, 20, 0]
    assert whole.wanted("numbers").classes is None
    many = read_table(table(75, x=lambda i: i % 7, y=lambda i: i % 25 + 10_000_000))
    assert many.classes is None
    assert many.wanted("classes").classes == [str(10_000_000 + i) for i in range(25)]
    assert many.wanted("classes").targets[:3].tolist() == [0, 1, 2]


def test_a_target_may_be_said_to_be_numbers_or_categories(read_table):
    content = table(42, x=lambda i: i % 7, y=lambda i: ["1", "1.0", "2"][i % 3])
    assert read_table(content, numbers=["y"]).targets[:3].tolist() == [1, 1, 2]
    assert read_table(content, numbers=["y"]).classes is None
    assert read_table(content, categories=["y"]).classes == ["1", "1.0", "2"]


def test_columns_without_a_value_are_left_out_with_a_note(read_table):
    content = table(20, x=lambda i: i % 7, empty=lambda i: "", unknown=lambda i: ["NA", "?"][i % 2])
    raw = read_table(content)
    assert raw.features == ["x"]
    assert raw.notes == [f"Left out {name!r}: no value in any row." for name in ("empty", "unknown")]
    assert raw.reader.read("3").values.tolist() == [[3]]


@pytest.mark.parametrize(
    "requested",
    [
        {"keep": ["x"]}, {"numbers": ["x"]}, {"categories": ["x"]}, {"group": "x"}, {"time": "x"},
        {"missing": "refuse"},
    ],
    ids=str,
)  # fmt: skip
def test_column_without_a_value_is_refused_where_something_is_requested_of_it(read_table, requested):
    content = table(20, x=lambda i: "", z=lambda i: i % 7)
    with pytest.raises(GradlabError, match="column 'x' has no value in any row"):
        read_table(content, **requested)


@pytest.mark.parametrize("make", [lambda i: i / 2, lambda i: "ab"[i % 2], lambda i: i % 3])
def test_rows_without_a_target_are_left_out_with_a_note(read_table, make):
    content = table(20, x=lambda i: i + 0.5, y=lambda i: ["", "NAN"][i % 2] if i in (3, 8) else make(i))
    raw = read_table(content)
    assert raw.inputs.ravel().tolist() == [i + 0.5 for i in range(20) if i not in (3, 8)]
    assert len(raw.targets) == 18
    assert raw.notes == ["Left out 2 rows in which 'y' is missing."]


def test_missing_values_are_refused_where_they_are_to_be(read_table):
    with pytest.raises(GradlabError, match=r"line 4, column 'size': the value is missing \(1 row in all\)"):
        read_table(HOUSES, target="price", missing="refuse")


def test_groups_are_numbered_whatever_names_them_and_however_many_there_are(read_table, monkeypatch):
    monkeypatch.setattr("gradlab.data.tables.survey._MOST_VALUES", 10)
    content = table(60, patient=lambda i: f"p{i // 2}", x=lambda i: i % 7)
    raw = read_table(content, group="patient")
    assert raw.groups.tolist() == [i // 2 for i in range(60)]
    assert raw.features == ["x"]
    assert uses(raw)["patient"] == "group"
    numbered = read_table(table(60, patient=lambda i: ["7", "", "NA", "8"][i % 4], x=lambda i: i % 7), group="patient")
    assert numbered.groups[:5].tolist() == [0, 1, 1, 2, 0]


def test_groups_of_rows_without_a_target_are_left_out_with_them(read_table):
    content = table(20, patient=lambda i: i // 4, x=lambda i: i % 7, y=lambda i: "" if i % 5 == 0 else "ab"[i % 2])
    raw = read_table(content, group="patient")
    assert raw.groups.tolist() == [i // 4 for i in range(20) if i % 5]


def test_groups_never_go_to_different_splits(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(table(200, patient=lambda i: f"p{i // 4}", x=lambda i: i % 7))
    part = sources.resolve(Part("csv", {"path": str(path), "target": "y", "group": "patient"}), "data")
    data = load(part)
    patients = [{row // 4 for row in data.split(s).rows} for s in ("train", "validation", "test")]
    assert sum(map(len, patients)) == 50
    assert set.union(*patients) == set(range(50))


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"target": "prize"}, "There is no column in .*, 'prize'. Did you mean 'price'"),
        ({"drop": ["price"]}, r"'price' cannot be in data\.target and in data\.drop"),
        ({"group": "price"}, r"'price' cannot be in data\.target and in data\.group"),
        ({"group": "size", "drop": ["size"]}, r"'size' cannot be in data\.group and in data\.drop"),
        ({"numbers": ["size"], "categories": ["size"]}, r"'size' cannot be in data\.numbers and in data\.categories"),
        ({"keep": ["nowhere"]}, "There is no column in .*, 'nowhere'"),
        ({"group": "nowhere"}, "There is no column in .*, 'nowhere'"),
        ({"drop": ["size", "colour", "built"]}, "no column is left to predict 'price' from"),
        ({"target": "built"}, "the target 'built' is a date, which cannot be predicted"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(read_table, cache, knobs, says):
    with pytest.raises(GradlabError, match=says):
        read_table(HOUSES, **{"target": "price", **knobs})
    assert [p for p in cache.rglob("*") if p != cache / "tables"] == []


def test_too_many_texts_are_neither_categories_nor_classes(read_table, monkeypatch):
    monkeypatch.setattr("gradlab.data.tables.survey._MOST_VALUES", 10)
    content = table(60, name=lambda i: f"p{i}", x=lambda i: i % 7)
    assert read_table(content).features == ["x"]
    for knob in ("keep", "categories"):
        with pytest.raises(GradlabError, match=r"column 'name' has too many different texts.* data\.drop=name"):
            read_table(content, **{knob: ["name"]})
    with pytest.raises(GradlabError, match="target 'name' has too many different texts to be classes"):
        read_table(content, target="name")


@pytest.fixture
def conversions(monkeypatch):
    """Grows with each file that is converted."""
    made = []

    class Counted(csv_files._Conversion):
        def __init__(self, *arguments):
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(csv_files, "_Conversion", Counted)
    return made


def test_the_second_time_a_file_is_read_from_the_cache(read_table, conversions, tmp_path, cache):
    first, again = read_table(HOUSES, target="price"), read_table(HOUSES, target="price")
    assert len(conversions) == 1
    np.testing.assert_array_equal(first.inputs, again.inputs)
    assert np.array_equal(first.targets, again.targets)
    assert first.notes == again.notes
    assert first.reader == again.reader
    assert first.fingerprint() == again.fingerprint()
    (folder,) = (cache / "tables").iterdir()
    assert {path.name for path in folder.iterdir()} == {"inputs.npy", "targets.npy", "table.json", "SHA256SUMS"}


def test_the_cache_is_keyed_by_the_content_and_by_what_was_asked_for(read_table, conversions, tmp_path):
    read_table(HOUSES, target="price")
    (tmp_path / "table.csv").rename(tmp_path / "renamed.csv")
    values = {"path": str(tmp_path / "renamed.csv"), "target": "price"}
    moved = sources.build(sources.resolve(Part("csv", values), "data"), 0)
    assert len(conversions) == 1
    prints = {moved.fingerprint()}
    for content, knobs in [(HOUSES.replace("50,", "51,", 1), {}), (HOUSES, {"drop": ["size"]}), (HOUSES + "\n", {})]:
        prints.add(read_table(content, target="price", **knobs).fingerprint())
    assert len(conversions) == len(prints) == 4


@pytest.mark.parametrize("name", ["inputs.npy", "targets.npy", "table.json", "groups.npy"])
def test_a_flipped_bit_of_the_cache_is_told_and_the_file_converted_again(read_table, cache, capsys, name):
    knobs = {"target": "price", "group": "colour"}
    want = read_table(HOUSES, **knobs).inputs.tolist()
    (folder,) = (cache / "tables").iterdir()
    content = bytearray((folder / name).read_bytes())
    content[-5] ^= 1
    (folder / name).write_bytes(content)
    again = read_table(HOUSES, **knobs)
    np.testing.assert_array_equal(again.inputs, want)
    assert f"{folder / name} is damaged" in capsys.readouterr().err


def test_a_disk_that_is_full_is_told_and_left_as_it_was(read_table, cache, full_disk):
    content = table(2000, x=lambda i: i % 7, z=lambda i: i % 11)
    with full_disk(40_000), pytest.raises(GradlabError, match=r"cannot be written: File too large\. Set GRADLAB_CACHE"):
        read_table(content)
    assert list((cache / "tables").iterdir()) == []


def grow(path):
    with path.open("a") as file:
        file.write("70,red,2001-01-01,100\n")


def cut(path):
    path.write_text(path.read_text()[:-30])


def edit(path):
    path.write_text(path.read_text().replace("50,", "51,"))


@pytest.mark.parametrize("change", [grow, cut, edit])
@pytest.mark.parametrize("between", ["Records", "check_classes"])
def test_a_file_that_changes_while_it_is_read_is_refused_and_leaves_nothing(
    read_table, cache, tmp_path, monkeypatch, change, between
):
    reader = getattr(csv_files, between)

    def interrupted(*arguments):
        found = reader(*arguments)
        change(tmp_path / "table.csv")
        return found

    monkeypatch.setattr(csv_files, between, interrupted)
    with pytest.raises(GradlabError, match=r"table\.csv changed while it was read"):
        read_table(HOUSES, target="colour")
    assert list((cache / "tables").iterdir()) == []


def test_what_a_run_keeps_of_the_columns_survives_json(read_table):
    reader = read_table(HOUSES, target="price", separator=",", encoding="latin-1").reader
    described = json.loads(json.dumps(reader.describe()))
    assert reader_of(described, ()) == reader
    assert reader.encoding == "latin-1"
    assert all(value not in MISSING for column in reader.columns for value in column.values)
