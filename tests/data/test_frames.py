"""Frames of several libraries, and their cells as a file has them."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gradlab.data.frames import build_frame, data_path, frame_file, is_frame, open_frame, texts, typed_categories
from gradlab.data.tables.records import Records
from gradlab.errors import GradlabError

ZONE = datetime.timezone(datetime.timedelta(hours=2))
COLUMNS = {
    "number": ([1.5, None, 2.0], ["1.5", "", "2"]),
    "whole": ([1, 2, 3], ["1", "2", "3"]),
    "text": (["a,b", None, 'say "x"\n'], ["a,b", "", 'say "x"\n']),
    "truth": ([True, None, False], ["True", "", "False"]),
    "day": ([datetime.date(2025, 1, 2), None, datetime.date(2025, 1, 3)], ["2025-01-02", "", "2025-01-03"]),
    "decimal": ([Decimal("1.10"), None, Decimal("2.00")], ["1.10", "", "2.00"]),
    "time": (
        [datetime.datetime(2025, 1, 2, 3, 4), None, datetime.datetime(2025, 1, 2)],
        ["2025-01-02 03:04:00", "", "2025-01-02 00:00:00"],
    ),
    "duration": ([datetime.timedelta(days=1), None, datetime.timedelta(hours=12)], ["1", "", "0.5"]),
}
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("library", LIBRARIES)
def test_cells_are_texts_alike_in_every_library(library):
    frame = LIBRARIES[library]({name: cells for name, (cells, _) in COLUMNS.items()})
    assert is_frame(frame)
    opened = open_frame(frame)
    assert {name: texts(opened[name]) for name in opened.columns} == {name: t for name, (_, t) in COLUMNS.items()}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.array([1, None], dtype="Int64"), ["1", ""]),
        (pd.array([1.5, None], dtype="Float64"), ["1.5", ""]),
        (pd.array([True, None], dtype="boolean"), ["True", ""]),
        (pd.array([1, None], dtype="int64[pyarrow]"), ["1", ""]),
        (pd.array(["a", None], dtype="string[pyarrow]"), ["a", ""]),
        (pd.Categorical([2, None]), ["2", ""]),
        (np.array([0.1, np.nan], dtype=np.float32), ["0.1", ""]),
        (np.array([2**64 - 1, 0], dtype=np.uint64), [str(2**64 - 1), "0"]),
        (pd.to_datetime(["2025-01-02 03:00+02:00", None]), ["2025-01-02 03:00:00+02:00", ""]),
        (np.array([1, "a"], dtype=object), ["1", "a"]),
    ],
)
def test_cells_of_the_types_of_pandas_are_texts(column, expected):
    assert texts(open_frame(pd.DataFrame({"column": column}))["column"]) == expected


def test_what_is_no_frame_is_none():
    for thing in ("t.csv", np.zeros((2, 2)), [[1]], pd.Series([1]), pl.LazyFrame({"a": [1]}), {"a": [1]}, None):
        assert not is_frame(thing)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a "]), "two columns named 'a'"),
        (pd.DataFrame([[1, 2]]), "numbers for names, such as 0"),
        (pd.DataFrame([[1, 2]], columns=["1", "3"]), "numbers for names, such as '1'"),
        (pd.DataFrame({"a": [[1], [2]]}), r"'a' of the frame holds \[1\]"),
        (pd.DataFrame({"a": []}), "0 rows"),
        (pd.DataFrame({"a": ["\ud800"]}, dtype=object), "no character"),
    ],
)
def test_a_frame_that_no_file_can_hold_is_refused(frame, says):
    with pytest.raises(GradlabError, match=says):
        frame_file(frame)


@pytest.mark.parametrize("thing", [np.zeros(3), {"a": [1]}, pl.LazyFrame({"a": [1]}), pd.Series([1])])
def test_data_that_are_neither_path_nor_frame_are_refused(thing):
    with pytest.raises(GradlabError, match="must be a path, or a frame"):
        data_path(thing)


def test_frames_of_one_content_have_one_file():
    frames = [make({"a": [1, 2], "b": ["x", None]}) for make in LIBRARIES.values()]
    assert len({frame_file(frame) for frame in frames}) == 1
    assert frame_file(frames[0]).read_text() == '"a","b"\n1,x\n2,\n'


def test_a_name_with_other_separators_is_one_column():
    assert Records(frame_file(pd.DataFrame({"a;b;c|d": [1], "x": [2]}))).names == ["a;b;c|d", "x"]


def test_numbers_of_a_type_for_categories_are_told():
    frame = pd.DataFrame({"code": pd.Categorical([1, 2]), "name": pd.Categorical(["a", "b"]), "x": [1, 2]})
    assert typed_categories(frame, {}) == ["code"]
    assert typed_categories(frame, {"drop": ["code"]}) == []
    assert typed_categories(pl.DataFrame({"code": pl.Series(["1", "2"], dtype=pl.Categorical)}), {}) == ["code"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_results_are_a_frame_of_the_same_library(library):
    frame = LIBRARIES[library]({"a": [1, 2]})
    result = build_frame(frame, {"b": np.array([3.5, 4.5])})
    assert type(result) is type(frame)
    assert texts(open_frame(result)["b"]) == ["3.5", "4.5"]


def test_results_keep_the_index_of_pandas():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 9], name="row"))
    pd.testing.assert_index_equal(build_frame(frame, {"b": [1, 2]}).index, frame.index)
    assert list(build_frame(frame, {"b": [1, 2, 3]}, same_rows=False).index) == [0, 1, 2]
