"""Tables and pictures of one's own that cannot be trained on: refused before the first step, with the place named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, contents
from PIL import Image

Refused = Callable[..., None]


@pytest.fixture
def refused(quick: ForkServer, tmp_path: Path) -> Refused:
    """`refused(arguments, words)`: `gradlab train` fails with these words, and leaves no run and nothing half-made."""
    cache = tmp_path.with_name(f"{tmp_path.name}-cache")

    def check(arguments: list[object], words: list[str]) -> None:
        before = contents(tmp_path)
        command = ["train", *arguments, "train.steps=1", "--out", "run"]
        check_refused(quick(*command, cwd=tmp_path, env={"GRADLAB_CACHE": str(cache)}), *words)
        assert contents(tmp_path) == before
        for folder in cache.glob("*/*"):
            assert not folder.name.startswith("."), folder
            assert any(folder.glob("*.npy")), folder

    return check


def rows(count: int = 20, **columns: Callable[[int], object]) -> str:
    """A table whose columns are functions of the number of the row: sound, unless they say otherwise."""
    made = {"size": lambda i: i % 7, "colour": lambda i: "rgb"[i % 3], "kind": lambda i: "ab"[i % 2], **columns}
    lines = [",".join(str(make(i)) for make in made.values()) for i in range(count)]
    return "\n".join([",".join(made), *lines]) + "\n"


def one(row: int, text: str, otherwise: Callable[[int], object] = lambda i: i % 7) -> Callable[[int], object]:
    return lambda i: text if i == row else otherwise(i)


TABLES: dict[str, tuple[bytes | str, list[str]]] = {
    "nothing": ("", ["data.csv", "empty"]),
    "nothing but empty lines": ("\n\n  \n", ["data.csv", "empty"]),
    "a header alone": ("size,colour,kind\n", ["data.csv", "no row below"]),
    "a row with a value too many": (rows() + "1,r,a,9\n", ["data.csv, line 22", "4 values", "3 columns"]),
    "a row with a value too few": (rows() + "1,r\n" + rows(), ["data.csv, line 22", "2 values", "3 columns"]),
    "a quote that is not closed": (rows() + '1,"r,a\n' + rows(), ["data.csv, line 22 or below", "quote"]),
    "Latin text": (
        rows(colour=one(4, "gr\xfcn", lambda i: "rb"[i % 2])).encode("latin-1"),
        ["line 6", "0xfc", "UTF-8"],
    ),
    "a zero byte": (rows(colour=one(4, "r\0")), ["data.csv, line 6", "zero byte"]),
    "UTF-16": (rows().encode("utf-16"), ["data.csv, line 1", "0xff", "data.encoding"]),
    "a text among numbers": (rows(size=one(4, "big")), ["data.csv, line 6, column 'size'", "'big'", "19 of the 20"]),
    "a number with a unit": (rows(size=one(4, "5 kg")), ["line 6, column 'size'", "'5 kg'"]),
    "one class": (rows(kind=lambda i: "a"), ["data.csv, column 'kind'", "only one class, 'a'"]),
    "one whole number to predict": (rows(kind=lambda i: 1), ["column 'kind'", "only one class, '1'"]),
    "classes that differ by case": (rows(kind=one(4, "A", lambda i: "ab"[i % 2])), ["'A' and 'a'", "upper and lower"]),
    "an empty target": (rows(kind=lambda i: "NA"), ["column 'kind'", "no value in any row"]),
    "infinity": (rows(size=one(4, "inf")), ["data.csv, line 6, column 'size': inf", "finite"]),
    "negative infinity": (rows(size=one(4, "-Infinity")), ["line 6, column 'size': -Infinity", "finite"]),
    "a number beyond single precision": (rows(size=one(4, "1e39")), ["line 6, column 'size': 1e39"]),
    "two columns of one name": ("size,size,kind\n1,2,a\n3,4,b\n", ["two columns named 'size'"]),
    "no header": ("1,2,0\n3,4,1\n", ["first line must name the columns", "1, 2, 0"]),
    "a date to predict": (rows(kind=lambda i: f"2024-01-{i + 1:02d}"), ["target 'kind' is a date"]),
    "nothing to predict from": (
        "kind,name\n" + "".join(f"{'ab'[i % 2]},n{i}\n" for i in range(20)),
        ["no column is left"],
    ),
}


@pytest.mark.parametrize("fault", TABLES)
def test_a_table_is_refused_that_holds(refused: Refused, tmp_path: Path, fault: str) -> None:
    content, words = TABLES[fault]
    (tmp_path / "data.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(["csv", "--data", "data.csv", "data.target=kind"], words)


KNOBS: dict[str, list[str]] = {
    "data.target=knid": ["'knid'", "Did you mean 'kind'"],
    "data.target=": ["column"],
    "data.drop=kind": ["'kind'", "data.target", "data.drop"],
    "data.keep=colr": ["'colr'", "Did you mean 'colour'"],
    "data.group=colors": ["'colors'", "Did you mean 'colour'"],
    "data.numbers=colour": ["line 2, column 'colour'", "'r' is not a number"],
    "data.separator=;;": ["data.separator=;;"],
    "data.separator=;": ["'kind'", "Valid: size,colour,kind"],
    "data.encoding=klingon": ["data.encoding=klingon"],
    "data.missing=guess": ["data.missing=guess"],
    "data.folds=11": ["Class 'a' has 10 examples", "11 folds"],
    "data.folds=1": ["data.folds=1"],
    "data.fold=2": ["data.fold=2", "data.folds"],
    "data.target_column=kind": ["target_column"],
    "task=regress": ["'a'", "task=classify"],
}


@pytest.mark.parametrize("knob", KNOBS)
def test_a_knob_of_a_table_is_refused_by_name(refused: Refused, tmp_path: Path, knob: str) -> None:
    (tmp_path / "data.csv").write_text(rows())
    refused(["csv", "--data", "data.csv", "data.target=kind", knob], KNOBS[knob])


def test_a_column_to_predict_must_be_named(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(rows())
    refused(["csv", "--data", "data.csv"], ["data.target must be given"])
    refused(["csv", "data.target=kind"], ["data.path must be given"])


def test_missing_values_are_refused_where_they_are_not_to_be_filled(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(rows(size=one(4, "NA")))
    refused(
        ["csv", "--data", "data.csv", "data.target=kind", "data.missing=refuse"], ["line 6, column 'size'", "missing"]
    )


def test_too_few_groups_for_the_splits_are_told(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(rows(patient=lambda i: i // 10))
    refused(["csv", "--data", "data.csv", "data.target=kind", "data.group=patient"], ["single group", "data.group"])


@pytest.mark.parametrize("recipe", ["csv", "images"])
@pytest.mark.parametrize("path", ["missing", "data.csv/below", "folder", "file"])
def test_a_wrong_path_is_named(refused: Refused, tmp_path: Path, recipe: str, path: str) -> None:
    (tmp_path / "data.csv").write_text(rows())
    (tmp_path / "file").write_text("neither a table nor a folder\0")
    (tmp_path / "folder").mkdir()
    refused([recipe, "--data", path, *(["data.target=kind"] if recipe == "csv" else [])], [path])


def test_a_file_that_cannot_be_read_is_named_with_the_reason(refused: Refused) -> None:
    """Nobody, root included, can read this one from its start."""
    refused(
        ["csv", "--data", "/proc/self/mem", "data.target=kind"], ["/proc/self/mem cannot be read: Input/output error"]
    )


@pytest.fixture
def draw(tmp_path: Path) -> Callable[..., Path]:
    """`draw("cat/1.png", …)`: pictures of noise in the folder data."""

    def make(*names: str) -> Path:
        for name in names:
            path = tmp_path / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32), np.uint8)).save(path)
        return tmp_path / "data"

    return make


FOLDERS = {
    "one class": (["cat/1.png", "cat/2.png"], ["only one class, 'cat'"]),
    "no class": (["1.png", "2.png"], ["data", "folder for each class"]),
    "classes that differ by case": (["cat/1.png", "CAT/1.png"], ["'CAT' and 'cat'", "upper and lower"]),
    "a class without training": (["train/a/1.png", "train/b/1.png", "test/c/1.png"], ["test/c/1.png", "'c'"]),
}


@pytest.mark.parametrize("fault", FOLDERS)
def test_a_folder_of_pictures_is_refused_that_has(refused: Refused, draw: Callable[..., Path], fault: str) -> None:
    names, words = FOLDERS[fault]
    draw(*names)
    refused(["images", "--data", "data"], words)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("a picture, they said"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:500]),
}


@pytest.mark.parametrize("name", ["2.png", "2.jpg"])
@pytest.mark.parametrize("fault", DAMAGE)
def test_a_damaged_picture_is_named(refused: Refused, draw: Callable[..., Path], fault: str, name: str) -> None:
    folder = draw("cat/1.png", f"cat/{name}", "dog/1.png")
    DAMAGE[fault](folder / "cat" / name)
    refused(["images", "--data", "data"], [f"data/cat/{name} cannot be read as a picture"])


def test_several_damaged_pictures_are_all_named(refused: Refused, draw: Callable[..., Path]) -> None:
    folder = draw(*(f"{label}/{i}.png" for label in ("cat", "dog") for i in range(3)))
    for name, fault in {"cat/1.png": "text", "cat/2.png": "cut short", "dog/0.png": "empty"}.items():
        DAMAGE[fault](folder / name)
    refused(["images", "--data", "data"], ["cat/1.png", "cat/2.png", "dog/0.png"])


def test_more_folds_than_pictures_of_a_class_are_refused(refused: Refused, draw: Callable[..., Path]) -> None:
    draw(*(f"cat/{i}.png" for i in range(9)), *(f"dog/{i}.png" for i in range(3)))
    refused(["images", "--data", "data", "data.folds=4"], ["Class 'dog' has 3 examples", "at most 3 folds"])


def test_a_damaged_cache_is_told_and_gives_the_same_run_again(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(rows())
    arguments = ("train", "csv", "--data", "data.csv", "data.target=kind", "train.steps=1", "--json")
    env = {"GRADLAB_CACHE": str(tmp_path / "cache")}
    first = quick(*arguments, "--out", "run", cwd=tmp_path, env=env)
    (inputs,) = (tmp_path / "cache").rglob("inputs.npy")
    inputs.write_bytes(inputs.read_bytes()[:-1] + b"\1")
    again = quick(*arguments, "--out", "again", cwd=tmp_path, env=env)
    assert (first.code, again.code) == (0, 0)
    assert f"{inputs} is damaged" in again.err
    files = [next((tmp_path / run).rglob("model.safetensors")).read_bytes() for run in ("run", "again")]
    assert files[0] == files[1]


def test_a_cache_that_cannot_be_written_is_named(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(rows())
    arguments = ("train", "csv", "--data", "data.csv", "data.target=kind", "--out", "run")
    ended = quick(*arguments, cwd=tmp_path, env={"GRADLAB_CACHE": "/proc/nowhere"})
    check_refused(ended, "/proc/nowhere", "Set GRADLAB_CACHE")
    assert not (tmp_path / "run").exists()
