"""Data that cannot be trained on are refused before the first step, with the place named and no run folder left."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused, contents, gradlab

Arrays = Callable[..., Path]


def with_value(value: float, row: int, column: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[row, column] = value
    return x


ARRAYS = {
    "NaN": ({"x": with_value(np.nan, 17, 2)}, ["nan", "row 17", "'x2'"]),
    "infinity": ({"x": with_value(np.inf, 5, 0)}, ["inf", "row 5", "'x0'"]),
    "negative infinity in float32": ({"x": with_value(-np.inf, 5, 1).astype(np.float32)}, ["-inf", "row 5", "'x1'"]),
    "NaN in the target": ({"y": np.array([1.0] * 39 + [np.nan])}, ["nan", "row 39", "target"]),
    "NaN in a picture": ({"x": np.full((40, 1, 8, 8), np.nan)}, ["nan", "row 0", "(0, 0, 0)"]),
    "no examples": ({"x": np.empty((0, 3)), "y": np.empty(0, int)}, ["no examples"]),
    "no columns": ({"x": np.empty((40, 0))}, ["x"]),
    "a single number": ({"x": np.float64(3)}, ["x"]),
    "more inputs than targets": ({"y": np.arange(39) % 2}, ["40", "39"]),
    "text inputs": ({"x": np.array([["a", "b"]] * 40)}, ["'x'", "numbers"]),
    "complex inputs": ({"x": np.ones((40, 3), complex)}, ["'x'", "complex128"]),
    "dates as targets": ({"y": np.array(["2020-01-01"] * 40, "datetime64[D]")}, ["'y'"]),
    "a table of classes": ({"y": np.ones((40, 2), int)}, ["y"]),
    "one class": ({"y": np.zeros(40, int)}, ["two classes"]),
    "a number beyond single precision": ({"x": with_value(1e300, 3, 1)}, ["row 3", "'x1'"]),
}


@pytest.mark.parametrize("fault", ARRAYS)
def test_arrays_are_refused_that_hold(quick: ForkServer, arrays: Arrays, tmp_path: Path, fault: str) -> None:
    changes, words = ARRAYS[fault]
    arrays(**changes)
    before = contents(tmp_path)
    check_refused(quick("train", "npz", "--data", "data.npz", "--out", "run", cwd=tmp_path), *words)
    assert contents(tmp_path) == before


def test_numbers_are_refused_as_classes_where_there_are_too_many(
    quick: ForkServer, arrays: Arrays, tmp_path: Path
) -> None:
    arrays(y=np.linspace(0, 1, 40))
    ended = quick("train", "npz", "task=classify", "--data", "data.npz", "--out", "run", cwd=tmp_path)
    check_refused(ended, "40 different numbers", "task=regress")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["<f2", "<f4", "<f8", ">f4", ">f8", "u1", "<i2", ">i4", "<i8", "?", "g"])
def test_inputs_of_every_numeric_type_are_trained_on(
    quick: ForkServer, arrays: Arrays, tmp_path: Path, kind: str
) -> None:
    arrays(x=np.random.default_rng(0).integers(0, 2, (40, 3)).astype(kind))
    ended = quick("train", "npz", "train.epochs=1", "--data", "data.npz", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err


def test_no_run_folder_is_left_under_runs_either(arrays: Arrays, tmp_path: Path) -> None:
    arrays(x=with_value(np.nan, 0, 0))
    check_refused(gradlab("train", "npz", "--data", "data.npz", cwd=tmp_path), "nan", "row 0", "'x0'")
    assert set(contents(tmp_path)) == {"data.npz"}


@pytest.mark.parametrize("path", ["missing.npz", ".", "data.npz/below"])
def test_a_wrong_path_is_named(quick: ForkServer, arrays: Arrays, tmp_path: Path, path: str) -> None:
    arrays()
    before = contents(tmp_path)
    check_refused(quick("train", "npz", "--data", path, cwd=tmp_path), Path(path).name or str(tmp_path))
    assert contents(tmp_path) == before


def test_an_array_that_is_missing_is_named(quick: ForkServer, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=np.ones((4, 2)), labels=np.ones(4, int))
    check_refused(quick("train", "npz", "--data", "data.npz", cwd=tmp_path), "'y'", "labels")


def cut(content: bytes) -> bytes:
    return content[: len(content) * 2 // 3]


def scrambled(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[: middle - 40] + bytes(b ^ 0x55 for b in content[middle - 40 : middle + 40]) + content[middle + 40 :]


FILES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut short": cut,
    "scrambled": scrambled,
    "text": lambda content: b"x,y\n1,2\n",
}


@pytest.mark.parametrize("fault", FILES)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_damaged_npz_file_is_named(quick: ForkServer, tmp_path: Path, save: Callable[..., None], fault: str) -> None:
    save(tmp_path / "data.npz", x=np.random.default_rng(0).normal(size=(200, 3)), y=np.arange(200) % 2)
    (tmp_path / "data.npz").write_bytes(FILES[fault]((tmp_path / "data.npz").read_bytes()))
    check_refused(quick("train", "npz", "--data", "data.npz", cwd=tmp_path), "data.npz")
    assert set(contents(tmp_path)) == {"data.npz"}


def idx(values: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    return header + values.astype(np.uint8).tobytes()


def write_idx(folder: Path, **changes: bytes) -> None:
    """The four files of MNIST, tiny; a change is named by the first words of its file's name."""
    images, labels = np.random.default_rng(0).integers(0, 255, (20, 14, 14)), np.arange(20) % 10
    folder.mkdir()
    for part in ("train", "t10k"):
        for what, values in {"images-idx3": images, "labels-idx1": labels}.items():
            key = f"{part}_{what.split('-')[0]}"
            (folder / f"{part}-{what}-ubyte").write_bytes(changes.get(key, idx(values)))


IDX = {
    "is empty": {"train_images": b""},
    "is not in the format": {"train_images": b"hello, this is text"},
    "ends in its header": {"train_images": bytes([0, 0, 8, 3, 0, 0])},
    "is cut short": {"train_images": idx(np.ones((20, 14, 14)))[:-100]},
    "is too long": {"train_labels": idx(np.ones(20)) + b"more"},
    "claims more than there is in the world": {"train_images": bytes([0, 0, 8, 3]) + b"\xff" * 12 + b"abc"},
    "holds no pictures": {"train_images": idx(np.ones((0, 14, 14))), "train_labels": idx(np.ones(0))},
    "holds a label too high": {"t10k_labels": idx(np.full(20, 10))},
    "has fewer labels than pictures": {"train_labels": idx(np.arange(19) % 10)},
    "has labels shifted against pictures": {
        "train_labels": idx(np.arange(19) % 10),
        "t10k_labels": idx(np.arange(21) % 10),
    },
    "has test pictures of another size": {"t10k_images": idx(np.ones((20, 12, 12)))},
    "has labels where pictures should be": {"train_images": idx(np.ones(20)), "t10k_images": idx(np.ones(20))},
}


@pytest.mark.parametrize("fault", IDX)
def test_a_folder_of_idx_files_is_refused_of_which_one(quick: ForkServer, tmp_path: Path, fault: str) -> None:
    write_idx(tmp_path / "idx", **IDX[fault])
    before = contents(tmp_path)
    arguments = ("train", "mnist-mlp", "model.hidden=4", "train.steps=1", "--data", "idx", "--out", "run")
    ended = quick(*arguments, cwd=tmp_path)
    check_refused(ended)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("fault", [cut, scrambled])
def test_a_damaged_gzip_file_is_named(quick: ForkServer, tmp_path: Path, fault: Callable[[bytes], bytes]) -> None:
    write_idx(tmp_path / "idx")
    name = "train-images-idx3-ubyte"
    content = gzip.compress((tmp_path / "idx" / name).read_bytes())
    (tmp_path / "idx" / name).unlink()
    (tmp_path / "idx" / f"{name}.gz").write_bytes(fault(content))
    check_refused(quick("train", "mnist-mlp", "--data", "idx", "--out", "run", cwd=tmp_path), f"{name}.gz")


def test_a_file_or_a_missing_folder_for_idx_is_named(quick: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for name in ("file", "missing"):
        check_refused(quick("train", "mnist-mlp", "--data", name, cwd=tmp_path), name, "folder")
    (tmp_path / "empty").mkdir()
    check_refused(quick("train", "mnist-mlp", "--data", "empty", cwd=tmp_path), "train-images-idx3-ubyte")


@pytest.mark.parametrize("command", ["resume", "evaluate"])
@pytest.mark.parametrize("change", ["other values", "gone"])
def test_data_that_changed_since_the_training_are_refused(
    quick: ForkServer, arrays: Arrays, tmp_path: Path, command: str, change: str
) -> None:
    path = arrays()
    assert quick("train", "npz", "train.epochs=1", "--data", path, "--out", "run", "--json", cwd=tmp_path).code == 0
    if command == "resume":
        (tmp_path / "run" / "result.json").unlink()
    if change == "gone":
        path.unlink()
    else:
        arrays(x=with_value(0.5, 3, 1))
    before = contents(tmp_path)
    check_refused(quick(command, "run", cwd=tmp_path), "data.npz" if change == "gone" else "data")
    assert contents(tmp_path) == before


def test_predict_needs_no_data(quick: ForkServer, arrays: Arrays, tmp_path: Path) -> None:
    path = arrays()
    assert quick("train", "npz", "train.epochs=1", "--data", path, "--out", "run", "--json", cwd=tmp_path).code == 0
    path.unlink()
    assert quick("predict", "run", "1,2,3", "--json", cwd=tmp_path).json["predictions"][0]["label"] in ("0", "1")
