"""Splits of one's own tables, from the command line: a file for each, and by time."""

import json
from pathlib import Path

from cli_helpers import ForkServer, check_refused


def write(path: Path, first: int, last: int) -> None:
    """Rows of which the target follows from the size."""
    lines = [f"2024-{1 + i // 28:02},{i * 7 % 11},{'small' if i * 7 % 11 < 5 else 'large'}" for i in range(first, last)]
    path.write_text("\n".join(["month,size,kind", *(f"{line[:7]}-01{line[7:]}" for line in lines)]) + "\n")


def test_a_run_has_the_splits_of_its_files_wherever_it_is_used_from(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name, first, last in (("train", 0, 80), ("val", 80, 100), ("test", 100, 130)):
        write(tmp_path / "data" / f"{name}.csv", first, last)
    files = ["data.validation_file=data/val.csv", "data.test_file=data/test.csv"]
    asked = ["csv", "--data", "data/train.csv", "data.target=kind", *files, "train.epochs=2", "--out", "run", "--json"]
    trained = quick("train", *asked, cwd=tmp_path)
    assert trained.code == 0, trained.err
    assert json.loads((tmp_path / "run" / "data.json").read_text())["sizes"] == {
        "train": 80,
        "validation": 20,
        "test": 30,
    }
    again = quick("evaluate", "../run", "--json", cwd=tmp_path / "data")
    assert again.code == 0, again.err
    assert again.json["loss"] == trained.json["test"]["loss"]
    write(tmp_path / "data" / "test.csv", 100, 129)  # a file that is not the first counts too
    check_refused(quick("evaluate", "run", cwd=tmp_path), "not the ones it was trained on")
    check_refused(quick("train", *asked[:-3], "data.test=0.2", cwd=tmp_path), "data.test", "test split of its own")


def test_the_plan_of_a_split_by_time_and_what_cannot_be_divided_so(quick: ForkServer, tmp_path: Path) -> None:
    write(tmp_path / "table.csv", 0, 140)
    asked = ["train", "csv", "--data", "table.csv", "data.target=kind", "data.time=month", "train.steps=2"]
    ended = quick(*asked, "--out", "run", "--plain", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "84 train, 28 validation, 28 test" in ended.out  # whole months
    check_refused(quick(*asked, "--folds", "3", cwd=tmp_path), "data.folds cannot be set with data.time")
    check_refused(
        quick(*asked[:-2], "data.time=kind", cwd=tmp_path), "'kind' cannot be in data.time and in data.target"
    )
