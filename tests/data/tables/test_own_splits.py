"""Splits of one's own tables: a file for each, or by time."""

import datetime
import hashlib
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data import load, sources
from gradlab.data.splits import Split, divide, latest
from gradlab.data.tables import csv_files
from gradlab.errors import GradlabError
from gradlab.registry import Part

COLOURS = ("red", "green", "blue")


def rows(numbers, colours=COLOURS):
    return "".join(f"{i},{i * 7 % 11},{colours[i % len(colours)]},{'ab'[i % 2]}\n" for i in numbers)


@pytest.fixture
def source(tmp_path):
    """`source(train=…, test=…)` reads these files of columns id, size, colour and y."""

    def read(target="y", header="id,size,colour,y\n", knobs=None, **files):
        paths = {}
        for split, content in files.items():
            paths[split] = tmp_path / f"{split}.csv"
            paths[split].write_text(content if "y" in content.split("\n")[0] else header + content)
        named = {f"{split}_file": str(path) for split, path in paths.items() if split != "train"}
        values = {"path": str(paths["train"]), "target": target, **named, **(knobs or {})}
        return sources.resolve(Part("csv", values), "data")

    return read


def build(part):
    return sources.build(part, 0)


def test_each_file_is_a_split(source):
    dataset = load(source(train=rows(range(30)), validation=rows(range(30, 42)), test=rows(range(42, 50))))
    assert [len(dataset.split(name)) for name in ("train", "validation", "test")] == [30, 12, 8]
    assert dataset.test.rows.tolist() == list(range(42, 50))
    assert dataset.raw.inputs[42:, 0].tolist() == [i * 7 % 11 for i in range(42, 50)]


def test_a_file_for_the_test_alone_leaves_a_share_of_the_first_for_validation(source):
    dataset = load(source(train=rows(range(40)), test=rows(range(40, 50)), knobs={"validation": 0.25}))
    assert [len(dataset.split(name)) for name in ("train", "validation", "test")] == [30, 10, 10]
    assert set(dataset.validation.rows) < set(range(40))


def test_categories_have_one_code_in_all_files_whatever_the_order_of_columns(source):
    test = "y,colour,id,size\nb,amber,41,3\na,red,42,4\n"
    raw = build(source(train=rows(range(40)), test=test))
    colour = raw.reader.inputs[1]
    assert colour.values == ["amber", "blue", "green", "red"]
    assert raw.inputs[40:].tolist() == [[3, 0], [4, 3]]
    assert raw.targets[40:].tolist() == [1, 0]


def test_the_preprocessing_is_of_the_training_file_alone(source):
    far = "\n".join(f"{i},1e6,violet,a" for i in range(40, 60)) + "\n"
    alone = load(source(train=rows(range(40)), knobs={"test": 0.0, "validation": 0.0}))
    both = load(source(train=rows(range(40)), test=far, knobs={"validation": 0.0}))
    assert torch.equal(both.train.inputs, alone.train.inputs)
    assert both.targets == alone.targets


def test_rows_without_a_target_do_not_move_the_borders(source):
    train = rows(range(20)) + "20,5,red,\n" + rows(range(21, 30)) + "30,5,red,?\n"
    raw = build(source(train=train, validation="31,5,red,\n" + rows(range(32, 40)), test=rows(range(40, 45))))
    assert (raw.validation_from, raw.test_from, len(raw.inputs)) == (29, 37, 42)


def test_numbers_that_count_the_rows_of_each_file_are_no_input(source):
    raw = build(source(train=rows(range(20)), test=rows(range(12))))
    assert {c.name: c.use for c in raw.reader.columns}["id"] == "left out"


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("id,size,y\n1,2,a\n", ["test.csv has no column 'colour'", "train.csv has"]),
        ("id,size,colour,y,extra\n1,2,red,a,0\n", ["test.csv has a column 'extra'", "train.csv has not"]),
        ("id,size,colour,y\n", ["test.csv has a line of column names, but no row"]),
        ("id,size,colour,y\n1,2,red,\n", ["test.csv: the target 'y' is missing in every row"]),
        (
            "id,size,colour,y\n1,2,red,a\n2,oops,red,b\n",
            ["line 3 of ", "test.csv, column 'size': 'oops' is not a number"],
        ),
    ],
)
def test_a_file_that_does_not_agree_is_refused_by_name(source, test, words):
    with pytest.raises(GradlabError) as refused:
        build(source(train=rows(range(20)), test=test))
    for word in words:
        assert word in str(refused.value)


def test_a_file_that_is_not_there_is_named_with_its_knob(source):
    part = source(train=rows(range(20)), knobs={"test_file": "nowhere.csv"})
    with pytest.raises(GradlabError, match=r"nowhere\.csv is not a file.*data\.test_file=FILE"):
        build(part)


def test_a_class_of_the_test_alone_is_noted(source):
    raw = build(source(train=rows(range(20)), test="1,2,red,c\n2,2,red,a\n"))
    assert raw.classes == ["a", "b", "c"]
    assert any("'c' has no row to train on" in note for note in raw.notes)


def test_the_fingerprint_is_of_all_files_and_of_which_split_each_is(source):
    first, second = rows(range(30, 40)), rows(range(40, 50))
    variants = [
        {"test": first},
        {"validation": first},
        {"validation": first, "test": second},
        {"validation": second, "test": first},
        {},
    ]
    keys = [build(source(train=rows(range(30)), **files)).fingerprint() for files in variants]
    assert len(set(keys)) == len(variants)
    assert build(source(train=rows(range(30)), test=first)).fingerprint() == keys[0]


def test_one_file_without_time_is_known_by_what_earlier_versions_knew_it_by(source, tmp_path):
    raw = build(source(train=rows(range(30))))
    lists = {knob: [] for knob in ("drop", "keep", "numbers", "categories")}
    settings = {"target": "y", **lists, "group": None, "missing": "fill", "separator": "auto", "encoding": "utf-8"}
    digest = hashlib.sha256((tmp_path / "train.csv").read_bytes()).hexdigest()
    assert (
        raw.key
        == hashlib.sha256(json.dumps([csv_files._FORMAT, digest, settings], sort_keys=True).encode()).hexdigest()
    )


# By time.


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.floats(0.01, 0.99))
def test_the_later_rows_are_held_out_and_none_of_one_time_is_parted(times, share):
    values = np.array(times, dtype=float)
    if len(set(times)) < 2:
        with pytest.raises(GradlabError, match="of the same time"):
            latest(np.arange(len(times)), share, values)
        return
    earlier, later = latest(np.arange(len(times)), share, values)
    assert sorted([*earlier, *later]) == list(range(len(times)))
    assert values[earlier].max() < values[later].min()
    most = np.unique(values, return_counts=True)[1].max()
    assert abs(len(later) - share * len(times)) <= max(1, most)


def test_three_splits_follow_each_other_in_time(rng):
    times = rng.permutation(100).astype(float)
    train, validation, test = divide(Split(test=0.2, validation=0.25), 100, times=times)
    assert sorted(times[test]) == list(range(80, 100))
    assert sorted(times[validation]) == list(range(60, 80))
    assert sorted(times[train]) == list(range(60))


def dated(count, form="%Y-%m-%d"):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i * 17 % count) for i in range(count)]
    lines = [f"{day.strftime(form)},{i * 7 % 11},{'ab'[i % 2]}" for i, day in enumerate(days)]
    return "when,size,y\n" + "\n".join(lines) + "\n", [i * 17 % count for i in range(count)]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
@pytest.mark.parametrize("drop", [[], ["when"]])
def test_dates_order_the_rows_and_stay_an_input_unless_dropped(source, form, drop):
    content, days = dated(50, form)
    dataset = load(source(train=content, knobs={"time": "when", "drop": drop, "validation": 0.25}))
    in_days = [sorted(days[row] for row in dataset.split(name).rows) for name in ("train", "validation", "test")]
    assert in_days == [list(range(30)), list(range(30, 40)), list(range(40, 50))]
    assert dataset.raw.features == ["size"] if drop else ["when", "size"]


def test_a_limit_keeps_the_latest_training_rows(source):
    content, days = dated(50)
    dataset = load(source(train=content, knobs={"time": "when", "limit": 10, "validation": 0.25}))
    assert sorted(days[row] for row in dataset.train.rows) == list(range(20, 30))


def test_numbers_are_times_too_and_rows_without_a_target_are_left_out_of_both(source):
    content = "size,year,y\n" + "".join(f"{i * 7 % 11},{2000 + i},{'ab?'[i % 3]}\n" for i in range(30))
    raw = build(source(train=content, knobs={"time": "year"}))
    assert raw.times.tolist() == [2000 + i for i in range(30) if i % 3 < 2]


def test_a_test_file_of_its_own_leaves_the_latest_of_the_others_for_validation(source):
    content, days = dated(40)
    dataset = load(source(train=content, test=dated(10)[0], knobs={"time": "when", "validation": 0.25}))
    assert dataset.test.rows.tolist() == list(range(40, 50))
    assert sorted(days[row] for row in dataset.validation.rows) == list(range(30, 40))


@pytest.mark.parametrize(
    ("content", "knobs", "words"),
    [
        ("when,x,y\nlate,1,a\nearly,2,b\n", {}, ["column 'when' holds texts such as 'late'", "no order in time"]),
        ("when,x,y\n1,1,a\n,2,b\n,3,a\n", {}, ["line 3, column 'when': the time is missing (2 rows in all)"]),
        ("when,x,y\n1,1,a\n2,2,b\n", {"group": "x"}, ["data.group and data.time both say"]),
        ("when,x,y\n1,1,a\n2,2,b\n", {"target": "when"}, ["'when' cannot be in data.time and in data.target"]),
        ("when,x,y\n1,1,a\n2,2,b\n", {"time": "then"}, ["then", "when"]),
        ("when,x,y\n1,1,a\n1,2,b\n1,3,b\n", {"keep": ["when"]}, ["3 rows of the same time cannot be divided"]),
        ("when,x,y\n" + "1,1,a\n2,2,b\n" * 9, {"folds": 3}, ["data.folds cannot be set with data.time"]),
    ],
)
def test_what_has_no_order_in_time_is_refused(source, content, knobs, words):
    with pytest.raises(GradlabError) as refused:
        load(source(train=content, knobs={"time": "when", **knobs}))
    for word in words:
        assert word in str(refused.value)
