"""Runs that learn from frames, and use them."""

import shutil

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gradlab as gl
from gradlab.data.frames import frame_file
from gradlab.errors import GradlabError

N = 60
CHANGES = {"epochs": 2, "hidden": [8], "doctor": "off"}


def houses():
    """Every type of column that a CSV file can express, most with a gap."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "area": draw.normal(90, 20, N),
            "rooms": pd.array(draw.integers(1, 6, N), dtype="Int64"),
            "district": draw.choice(["north", "south", "east"], N),
            "new": draw.random(N) < 0.5,
            "built": pd.Timestamp("2001-02-03") + pd.to_timedelta(draw.integers(0, 5000, N), unit="D"),
            "height": draw.normal(3, 1, N).astype(np.float32),
        }
    )
    frame["price"] = frame["area"] * 1000 + draw.normal(0, 100, N)
    for row, name in enumerate(["area", "rooms", "district", "built"]):
        frame.loc[row, name] = None
    return frame


FRAME = houses()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return gl.train("csv", CHANGES, data=FRAME, target="price", out=tmp_path_factory.mktemp("frames") / "run")


@pytest.fixture(scope="module")
def of_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("file")
    FRAME.to_csv(folder / "houses.csv", index=False)
    return gl.train(folder / "houses.csv", {**CHANGES, "target": "price"}, out=folder / "run")


def same_weights(one, other):
    first, second = one.chosen_weights(), other.chosen_weights()
    return first.keys() == second.keys() and all(first[name].equal(second[name]) for name in first)


def test_a_frame_trains_to_the_bits_of_its_csv_file(run, of_file):
    assert same_weights(run, of_file)
    assert run.test == of_file.test


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)])
def test_a_frame_of_another_library_trains_to_the_same_bits(run, convert, tmp_path):
    other = gl.train(convert(FRAME), {**CHANGES, "data.target": "price"}, out=tmp_path / "run")
    assert same_weights(run, other)
    assert other.data["fingerprint"] == run.data["fingerprint"]


def test_a_frame_in_an_override_is_a_file(run, tmp_path):
    changes = {**CHANGES, "data.test_file": FRAME.iloc[:20]}
    other = gl.train("csv", changes, data=FRAME.iloc[20:], target="price", out=tmp_path / "run")
    assert len(other.dataset.test) == 20


@pytest.mark.parametrize("kind", ["run", "of_file"])
def test_predictions_of_a_frame_are_those_of_its_file(request, kind, tmp_path):
    trained = request.getfixturevalue(kind)
    FRAME.drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    predicted = trained.predict(FRAME[FRAME.columns[::-1]].assign(more="x").set_index(FRAME.index + 100))
    assert list(predicted.columns) == ["price"]
    assert list(predicted.index) == list(FRAME.index + 100)
    assert predicted["price"].tolist() == trained.predict(str(tmp_path / "new.csv")).tolist()


def german_number(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture
def german(tmp_path):
    """A file with other forms of dates, truth values and numbers than a frame has, and the same rows as a frame."""
    days = pd.date_range("2024-03-01", periods=40)
    frame = pd.DataFrame(
        {"day": days, "open": days.day % 2 == 0, "sold": days.day * 1500.5, "price": days.day * 1037.25}
    )
    texts = pd.DataFrame(
        {
            "day": frame["day"].dt.strftime("%d.%m.%Y"),
            "open": frame["open"].map({True: "TRUE", False: "FALSE"}),
            "sold": frame["sold"].map(german_number),
            "price": frame["price"].map(german_number),
        }
    )
    texts.to_csv(tmp_path / "all.csv", sep=";", index=False)
    texts.iloc[:30].to_csv(tmp_path / "some.csv", sep=";", index=False)
    return tmp_path, frame


@pytest.mark.parametrize("target", ["price", "open"])
def test_types_stand_for_the_forms_of_the_training_file(german, target):
    folder, frame = german
    trained = gl.train(folder / "all.csv", {**CHANGES, "target": target}, out=folder / "run")
    assert trained.predict(frame)[target].tolist() == trained.predict(str(folder / "all.csv")).tolist()
    assert trained.evaluate(data=frame.iloc[:30]) == trained.evaluate(data=folder / "some.csv")


def test_a_missing_column_is_named(run):
    with pytest.raises(GradlabError, match="no column 'area', 'new', which training had"):
        run.predict(FRAME.drop(columns=["area", "new"]))


def test_truth_values_are_no_dates(run):
    with pytest.raises(GradlabError, match=r"row 0 of the frame, column 'built': 'True' is not a date"):
        run.predict(FRAME.assign(built=True))


def test_other_rows_are_evaluated_as_their_file_is(run, tmp_path):
    rows = FRAME.iloc[:30]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert run.evaluate(data=rows) == run.evaluate(data=tmp_path / "rows.csv")
    assert run.is_new(rows)


def test_its_own_frame_is_the_split_of_the_run(run):
    assert not run.is_new(FRAME)
    assert run.evaluate(data=FRAME) == run.evaluate()


def test_a_run_is_continued_without_the_frame(tmp_path):
    whole = gl.train("csv", {**CHANGES, "epochs": 4}, data=FRAME, target="price", out=tmp_path / "whole")
    again = shutil.copytree(whole.path, tmp_path / "again")
    for file in ("result.json", "report.html"):
        (again / file).unlink()
    for folder in sorted((again / "checkpoints").glob("step-*"))[1:]:
        shutil.rmtree(folder)
    assert same_weights(gl.resume(again), whole)


def test_a_frame_that_is_gone_from_the_cache_is_asked_for(tmp_path):
    frame = FRAME.assign(area=FRAME["area"] + 1)
    trained = gl.train("csv", CHANGES, data=frame, target="price", out=tmp_path / "run")
    shutil.rmtree(frame_file(frame).parent)
    with pytest.raises(GradlabError, match=r"gone. Pass the same frame again.*resume\(RUN, data=frame\)"):
        gl.load_run(trained.path).evaluate()
    assert gl.load_run(trained.path, data=frame).evaluate() == trained.evaluate(data=frame)


def test_types_that_no_file_has_are_kept(tmp_path):
    frame = FRAME.assign(rooms=FRAME["rooms"].astype("category"))
    trained = gl.train("csv", CHANGES, data=frame, target="price", out=tmp_path / "run")
    assert {column.name: column.kind for column in trained.reader.inputs}["rooms"] == "category"
    floats = frame.assign(rooms=[float(cell) if pd.notna(cell) else np.nan for cell in FRAME["rooms"]])
    assert trained.predict(floats)["price"].tolist() == trained.predict(frame)["price"].tolist()


def test_numbers_in_order_or_by_name_suit_a_run_without_a_table(tmp_path, capsys):
    trained = gl.train("wine-mlp", {"epochs": 1, "doctor": "off"}, out=tmp_path / "run")
    names = trained.preprocessing.features
    values = np.random.default_rng(0).normal(size=(4, len(names)))
    named = pd.DataFrame(values, columns=names)
    expected = trained.predict(values).tolist()
    assert trained.predict(named[names[::-1]].assign(target=1))["prediction"].tolist() == expected
    assert trained.predict(pd.DataFrame(values, columns=[f"f{n}" for n in names]))["prediction"].tolist() == expected
    assert trained.predict(pd.DataFrame(values))["prediction"].tolist() == expected
    assert "taken in their order" in capsys.readouterr().err
    with pytest.raises(GradlabError, match=f"no column '{names[0]}'"):
        trained.predict(named.drop(columns=names[0]))


@pytest.mark.parametrize("arguments", [("csv", FRAME), (FRAME, FRAME)])
def test_a_frame_in_place_of_the_changes_is_refused(arguments):
    with pytest.raises(GradlabError, match="data=frame"):
        gl.train(*arguments, target="price")


def test_two_frames_are_refused():
    with pytest.raises(GradlabError, match="data already"):
        gl.train(FRAME, data=FRAME)


@pytest.mark.parametrize("call", [{"recipe": FRAME}, {"recipe": "csv", "data": FRAME}])
def test_a_frame_without_a_target_has_its_columns_listed(call):
    with pytest.raises(GradlabError, match=r"The frame has the columns area, rooms.*\n.*'target': 'price'"):
        gl.train(**call)
