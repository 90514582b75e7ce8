"""New rows and pictures, for runs that were trained on one's own, that do not fit."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, accept_changes, check_refused, contents
from PIL import Image


@pytest.fixture(scope="module")
def table(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run trained on sizes, colours and dates."""
    folder = tmp_path_factory.mktemp("table")
    lines = [f"{i % 7 / 2},{'rgb'[i % 3]},2024-01-{i % 28 + 1:02d},{'ab'[i % 2]}" for i in range(40)]
    (folder / "data.csv").write_text("\n".join(["size,colour,bought,kind", *lines]))
    arguments = ("train", "csv", "--data", "data.csv", "data.target=kind", "train.steps=2", "--out", "run", "--json")
    assert quick(*arguments, cwd=folder).code == 0
    return folder / "run"


@pytest.fixture(scope="module")
def pictures(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run trained on grey pictures of 32×32 pixels."""
    folder = tmp_path_factory.mktemp("pictures")
    for i in range(20):
        path = folder / "data" / "ab"[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (32, 32), np.uint8)).save(path)
    arguments = ("train", "images", "--data", "data", "train.steps=2", "--out", "run", "--json")
    assert quick(*arguments, cwd=folder).code == 0
    return folder / "run"


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content) and None


def picture(path: Path) -> None:
    Image.new("L", (32, 32)).save(path)


def cut(path: Path) -> None:
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32), np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:300])


def nothing(path: Path) -> None:
    pass


ROWS: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "new.csv": (text("size,colour,bought,age\n1,r,,9\n"), ["column 'age' that training did not have", "Remove it"]),
    "less.csv": (text("size,bought\n1,\n"), ["less.csv has no column 'colour'"]),
    "words.csv": (text("size,colour,bought\n1,r,\nbig,r,\n"), ["words.csv, line 3, column 'size'", "'big'"]),
    "endless.csv": (text("size,colour,bought\ninf,r,\n"), ["inf", "row 0", "'size'"]),
    "dates.csv": (text("size,colour,bought\n1,r,soon\n"), ["line 2, column 'bought'", "'soon' is not a date"]),
    "header.csv": (text("size,colour,bought\n"), ["header.csv", "no row below"]),
    "empty.csv": (text(""), ["empty.csv is empty"]),
    "ragged.csv": (text("size,colour,bought\n1,r\n"), ["ragged.csv, line 2", "2 values"]),
    "list.json": (text("[[1, 2, 3]]"), ["list.json", "list of objects"]),
    "less.json": (text('{"size": 1, "bought": null}'), ["less.json has no column 'colour'"]),
    "photo.png": (picture, ["photo.png is a picture", "trained on a table"]),
    "missing.csv": (nothing, ["missing.csv is not a file"]),
    "1,r": (nothing, ["one row of 3 values", "size, colour, bought"]),
    "big,r,2024-01-01": (nothing, ["column 'size': 'big' is not a number"]),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_refused(quick: ForkServer, table: Path, tmp_path: Path, name: str) -> None:
    write, words = ROWS[name]
    write(tmp_path / name)
    before = contents(table)
    ended = quick("predict", table, name, "--json", cwd=tmp_path)
    check_refused(ended, *words)
    assert list(ended.json) == ["error"]
    assert contents(table) == before


def test_an_unknown_category_is_told_and_is_no_error(quick: ForkServer, table: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("size,colour,bought\n1,pink,2024-01-01\n1,r,2024-01-01\n")
    ended = quick("predict", table, "new.csv", "--json", cwd=tmp_path)
    assert ended.code == 0
    assert len(ended.json["predictions"]) == 2
    assert ended.err.startswith("gradlab: ")
    assert "new.csv, line 2, column 'colour': 'pink' did not occur in training (1 row like it)" in ended.err


def test_missing_values_are_filled_without_a_word(quick: ForkServer, table: Path, tmp_path: Path) -> None:
    ended = quick("predict", table, ",,", "--json", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")


PICTURES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "rows.csv": (text("size,kind\n1,a\n"), ["rows.csv is no picture", "trained on pictures"]),
    "text.png": (text("size,kind\n1,a\n"), ["text.png cannot be read as a picture"]),
    "cut.png": (cut, ["cut.png cannot be read as a picture"]),
    "folder": (Path.mkdir, ["folder has no picture in it"]),
    "missing.png": (nothing, ["missing.png is neither a picture nor a folder"]),
    "1,2,3": (nothing, ["1,2,3 is neither a picture nor a folder"]),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_refused(quick: ForkServer, pictures: Path, tmp_path: Path, name: str) -> None:
    write, words = PICTURES[name]
    write(tmp_path / name)
    ended = quick("predict", pictures, name, "--json", cwd=tmp_path)
    check_refused(ended, *words)
    assert list(ended.json) == ["error"]


def test_a_damaged_picture_in_a_folder_is_named(quick: ForkServer, pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    picture(tmp_path / "new" / "a.png")
    cut(tmp_path / "new" / "b.png")
    check_refused(quick("predict", pictures, "new", cwd=tmp_path), "new/b.png cannot be read as a picture")


def test_other_files_in_a_folder_are_passed_over_with_a_notice(
    quick: ForkServer, pictures: Path, tmp_path: Path
) -> None:
    (tmp_path / "new").mkdir()
    picture(tmp_path / "new" / "a.png")
    (tmp_path / "new" / "notes.txt").write_text("a stray")
    ended = quick("predict", pictures, "new", "--json", cwd=tmp_path)
    assert [p["file"] for p in ended.json["predictions"]] == ["a.png"]
    assert "Passed over 1 file in new" in ended.err
    assert "notes.txt" in ended.err


@pytest.mark.parametrize("options", [["--json", "--csv"], ["--csv", "--json", "--calibrated"]])
def test_two_forms_at_once_are_refused(quick: ForkServer, table: Path, tmp_path: Path, options: list[str]) -> None:
    check_refused(quick("predict", table, "1,r,", *options, cwd=tmp_path), "--json", "--csv")


READERS = [
    ({"kind": "sounds"}, "sounds"),
    ({"kind": "table"}, "columns"),
    ({"kind": "pictures"}, "width"),
    ({}, "kind"),
]


@pytest.mark.parametrize(("reader", "says"), READERS)
def test_a_run_whose_reader_is_damaged_says_so(
    quick: ForkServer, table: Path, tmp_path: Path, reader: dict[str, str], says: str
) -> None:
    run = Path(shutil.copytree(table, tmp_path / "run", ignore=shutil.ignore_patterns("report.html")))
    described = json.loads((run / "data.json").read_text())
    (run / "data.json").write_text(json.dumps({**described, "reader": reader}))
    accept_changes(run)
    check_refused(quick("predict", run, "1,r,", cwd=tmp_path), "data.json", says)
