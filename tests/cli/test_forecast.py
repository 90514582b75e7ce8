"""Series of one's own through the command line: trained on, continued, evaluated, and refused where they cannot be."""

import csv
import io
import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, check_same, contents, kill_after

Rows = list[list[object]]

HEAD = ["day", "store", "sold", "promo", "visitors"]
TRAIN = ["train", "forecast", "data.time=day", "data.target=sold", "data.horizon=7", "data.series=store"]
HELP = ["data.known=promo", "data.covariates=visitors"]
SMALL = ["train.steps=60", "model.hidden=8", "train.evaluate_every=20"]


def sales(days: int = 150, ahead: int = 7, first: date = date(2025, 1, 1)) -> Rows:
    """Two stores in long form, with the promotions of the next week."""
    generator, rows = np.random.default_rng(0), list[list[object]]()
    for i in range(days + ahead):
        for store, size in (("north", 20.0), ("south", 300.0)):
            promo = int(generator.uniform() < 0.2)
            sold = size * (3 + np.sin(2 * np.pi * i / 7) + promo + 0.1 * generator.normal())
            future = i >= days
            visitors = "" if future else round(2 * sold)
            rows.append([first + timedelta(days=i), store, "" if future else f"{sold:.2f}", promo, visitors])
    return rows


def write(path: Path, rows: Rows, head: list[str] = HEAD) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="module")
def folder(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, and the file it was trained on."""
    folder = tmp_path_factory.mktemp("forecast")
    write(folder / "sales.csv", sales())
    ended = quick(*TRAIN, *HELP, *SMALL, "--data", "sales.csv", "--out", "run", "--plain", cwd=folder)
    assert ended.code == 0, ended.err
    (folder / "stdout").write_text(ended.out)
    return folder


def test_a_training_tells_what_it_read_and_whether_it_beats_the_baselines(folder: Path) -> None:
    told, result = (folder / "stdout").read_text(), json.loads((folder / "run" / "result.json").read_text())
    assert "2 series, 300 rows in all, in steps of 1 day, 2025-01-01 to 2025-05-30; season 7 (by the calendar)" in told
    assert "test: 2025-05-01 to 2025-05-30" in told
    assert result["notes"][0] in told
    assert {"loss", "mae", "mase", "coverage"} == set(result["test"])
    assert list(result["baselines"]["test"]) == ["last value", "seasonal"]
    backtest = result["backtest"]
    assert np.mean(backtest["mase_by_step"]) == pytest.approx(result["test"]["mase"], rel=1e-5)
    seasonal = result["baselines"]["test"]["seasonal"]["mase"]
    assert backtest["relative_mase"] == pytest.approx(result["test"]["mase"] / seasonal, rel=1e-5)


def test_the_report_draws_errors_by_step_and_forecasts_of_each_series(folder: Path) -> None:
    page = (folder / "run" / "report.html").read_text()
    for words in ("Backtest", "Error by step ahead", "Coverage by step ahead", "<h3>north</h3>", "<h3>south</h3>"):
        assert words in page


def test_predict_continues_every_series(quick: ForkServer, folder: Path) -> None:
    told = quick("predict", "run", "sales.csv", "--json", cwd=folder).json
    assert told["interval"] == 0.8
    lines = told["predictions"]
    assert [(line["series"], line["time"]) for line in lines] == [
        (store, str(date(2025, 5, 31) + timedelta(days=i))) for store in ("north", "south") for i in range(7)
    ]
    assert all(line["low"] <= line["value"] <= line["high"] for line in lines)
    assert all(30 < line["value"] < 110 for line in lines[:7])
    assert all(450 < line["value"] < 1650 for line in lines[7:])
    printed = list(csv.DictReader(io.StringIO(quick("predict", "run", "sales.csv", "--csv", cwd=folder).out)))
    assert [float(line["sold"]) for line in printed] == pytest.approx([line["value"] for line in lines])
    assert list(printed[0]) == ["store", "day", "sold", "low", "high"]
    assert "2025-06-06" in quick("predict", "run", "sales.csv", cwd=folder).out


def test_what_is_known_in_advance_changes_a_forecast_and_the_order_of_rows_does_not(
    quick: ForkServer, folder: Path
) -> None:
    def values(name: str, rows: Rows) -> list[float]:
        write(folder / name, rows)
        told = quick("predict", "run", name, "--json", cwd=folder).json
        return [line["value"] for line in told["predictions"]]

    rows = sales()
    before = values("same.csv", rows)
    assert values("apart.csv", sorted(rows, key=lambda row: str(row[1]))) == before
    promoted = values("promoted.csv", [[*row[:3], 1 if row[2] == "" else row[3], row[4]] for row in rows])
    assert promoted != before
    assert values("earlier.csv", rows[40:]) == pytest.approx(before, rel=1e-4)  # more past than is looked at


def test_evaluate_takes_the_run_s_own_data_and_new_ones(quick: ForkServer, folder: Path) -> None:
    result = json.loads((folder / "run" / "result.json").read_text())
    own = quick("evaluate", "run", "--json", "--data", "sales.csv", cwd=folder).json
    assert own["mase"] == pytest.approx(result["test"]["mase"], rel=1e-6)
    rows = sales(60, 0, date(2025, 6, 1))
    write(folder / "new.csv", [[day, store.replace("south", "west"), *rest] for day, store, *rest in rows])
    new = quick("evaluate", "run", "--json", "--data", "new.csv", cwd=folder)
    assert new.json["examples"] == 2 * (60 - 14 - 7 + 1)
    assert set(new.json["baselines"]) == {"last value", "seasonal"}
    assert "series 'west' was not in the training" in new.err


def test_series_are_shown(quick: ForkServer, folder: Path, tmp_path: Path) -> None:
    knobs = ["time=day", "target=sold", "series=store", "known=promo", "horizon=7"]
    ended = quick("data", "show", "series", "--data", folder / "sales.csv", *knobs, "--out", "page.html", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "2 series in steps of 1 day, season 7 (by the calendar)" in ended.out
    assert "2025-05-30" in ended.out
    assert "<h3>south</h3>" in (tmp_path / "page.html").read_text()
    told = quick("data", "show", "series", "--data", folder / "sales.csv", *knobs, "--json", cwd=tmp_path).json
    assert [one["rows"] for one in told["series"]] == [150, 150]


def test_a_forecaster_can_be_looked_into_and_checked(quick: ForkServer, folder: Path, tmp_path: Path) -> None:
    assert "GRU" in quick("probe", folder / "run", folder / "sales.csv", cwd=tmp_path).out
    check = quick(*TRAIN, *HELP, *SMALL, "--data", folder / "sales.csv", "--check", "--out", "checked", cwd=tmp_path)
    assert check.code == 0, check.err
    assert "inputs matter" in check.out


def test_a_killed_training_ends_as_if_it_had_not_been(quick: ForkServer, folder: Path, tmp_path: Path) -> None:
    changes = ["model=series-transformer", "model.dim=8", "model.heads=2", "model.dropout=0.1", "model.shortcut=true"]
    train = [*TRAIN, *HELP, *changes, "train.steps=120", "--data", folder / "sales.csv"]
    train += ["train.log_every=3", "train.evaluate_every=10", "train.checkpoint_every=7"]
    assert quick(*train, "--out", "whole", "--json", cwd=tmp_path).code == 0
    kill_after(tmp_path / "killed", 12, *train, "--out", "killed", cwd=tmp_path)
    assert not (tmp_path / "killed" / "result.json").exists()
    assert quick("resume", "killed", "--json", cwd=tmp_path).code == 0
    check_same(tmp_path / "killed", tmp_path / "whole")


def test_of_a_random_walk_the_last_value_is_said_to_be_better(quick: ForkServer, tmp_path: Path) -> None:
    walk = np.random.default_rng(0).normal(size=300).cumsum()
    write(tmp_path / "walk.csv", [[i, f"{x:.4f}"] for i, x in enumerate(walk)], ["t", "x"])
    train = ["train", "forecast", "--data", "walk.csv", "data.time=t", "data.target=x", "data.horizon=5"]
    ended = quick(*train, *SMALL, "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "does not beat that of the last value" in ended.json["notes"][0]
    assert set(json.loads((tmp_path / "run" / "result.json").read_text())["baselines"]["test"]) == {"last value"}


# What cannot be trained on.


def one_store(change: Callable[[Rows], object] = lambda rows: None) -> Rows:
    rows = [[row[0], row[2], row[3]] for row in sales(100, 0) if row[1] == "north"]
    change(rows)
    return rows


def cell(row: int, column: int, text: str) -> Callable[[Rows], object]:
    return lambda rows: rows[row].__setitem__(column, text)


BAD: dict[str, tuple[Rows, list[str], list[str]]] = {
    "a time that is missing": (one_store(lambda r: r.pop(50)), [], ["line 52", "2025-02-21", "1 row missing"]),
    "a time that is there twice": (
        one_store(lambda r: r.insert(50, r[50])), [], ["line 53", "2025-02-20 is there twice", "data.series"],
    ),
    "times that are not sorted": (
        one_store(lambda r: r.reverse()), [], ["line 3", "comes after 2025-04-10, which is later", "Sort"],
    ),
    "two rows exchanged": (one_store(lambda r: r.insert(9, r.pop(10))), [], ["line 12, column 'day'", "later"]),
    "a time between the others": (
        one_store(cell(50, 0, "2025-02-20 12:00")), [], ["line 52", "2025-02-20 12:00 is not a whole number of steps"],
    ),
    "a time that is none": (one_store(cell(50, 0, "soon")), [], ["line 52", "'soon' is no time"]),
    "no time at all": (one_store(cell(50, 0, "")), [], ["line 52, column 'day'", "missing"]),
    "a text among the numbers": (one_store(cell(50, 1, "many")), [], ["line 52, column 'sold'", "'many'"]),
    "a number that is missing": (one_store(cell(50, 1, "")), [], ["line 52, column 'sold'", "missing"]),
    "infinity": (one_store(cell(50, 1, "inf")), [], ["line 52, column 'sold'", "finite"]),
    "too few rows": (one_store()[:30], [], ["too few rows", "30" and "data.horizon=7"]),
    "no column of that name": (one_store(), ["data.target=solt"], ["no column", "'solt'", "'sold'"]),
    "no column of times of that name": (one_store(), ["data.time=date"], ["no column", "'date'"]),
    "no covariate of that name": (one_store(), ["data.known=weather"], ["no column", "'weather'"]),
    "a column for two things": (one_store(), ["data.known=sold"], ["'sold' is named twice", "target or known"]),
    "a horizon beyond the file": (one_store(), ["data.horizon=60"], ["too few rows", "data.horizon=60"]),
    "a history shorter than the season": (one_store(), ["data.history=5"], ["data.history=5", "data.season=7"]),
    "a model of pictures": (one_store(), ["model=lenet"], ["takes pictures", "series of 21 steps"]),
    "a task of another kind": (one_store(), ["task=regress"], ["are series", "task=forecast"]),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_is_refused_before_the_first_step(quick: ForkServer, tmp_path: Path, fault: str) -> None:
    rows, changes, words = BAD[fault]
    write(tmp_path / "sales.csv", rows, ["day", "sold", "promo"])
    before = contents(tmp_path)
    train = ["train", "forecast", "--data", "sales.csv", "data.time=day", "data.target=sold", "data.horizon=7"]
    check_refused(quick(*train, "train.steps=1", *changes, "--out", "run", cwd=tmp_path), *words)
    assert contents(tmp_path) == before


PREDICTED: dict[str, tuple[Rows, list[str], list[str]]] = {
    "too little of the past": (sales(10), [], ["series 'north' has 10 rows, but 14 are needed"]),
    "nothing known of the next days": (sales(40, 0), [], ["'north' has 0 rows after its last value", "promo"]),
    "a gap": (sales()[:20] + sales()[24:], [], ["line 22", "2 rows missing"]),
    "another column for the names": (sales(), ["--id", "day"], ["leave out --id"]),
    "labels": (sales(), ["--csv", "--only", "labels"], ["a forecast has neither"]),
    "a threshold": (sales(), ["--threshold", "0.5"], ["two classes"]),
}


@pytest.mark.parametrize("fault", PREDICTED)
def test_cannot_be_continued(quick: ForkServer, folder: Path, tmp_path: Path, fault: str) -> None:
    rows, options, words = PREDICTED[fault]
    write(tmp_path / "next.csv", rows)
    check_refused(quick("predict", folder / "run", "next.csv", *options, cwd=tmp_path), *words)


def test_a_file_of_another_kind_is_refused(quick: ForkServer, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "other.csv", [[1, 2]], ["a", "b"])
    check_refused(quick("predict", folder / "run", "other.csv", cwd=tmp_path), "no column", "'day'")
    check_refused(quick("predict", folder / "run", "nothing.csv", cwd=tmp_path), "nothing.csv is not a file")
    check_refused(quick("evaluate", folder / "run", "--data", "other.csv", cwd=tmp_path), "no column", "'day'")
    check_refused(quick("train", "forecast", "--data", "nothing.csv", *TRAIN[2:], cwd=tmp_path), "is not a file")
    check_refused(quick("train", "forecast", cwd=tmp_path), "data.path")


@pytest.mark.slow
def test_generated_series_are_forecast_better_than_their_season(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "seasonal-forecast", "train.steps=200", "--out", "run", "--json", cwd=tmp_path)
    assert ended.json["backtest"]["relative_mase"] <= 0.8
