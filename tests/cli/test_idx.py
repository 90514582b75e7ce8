"""MNIST and Fashion-MNIST recipes, on small files in the same format."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer
from PIL import Image

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(values: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    return header + values.astype(np.uint8).tobytes()


def pictures(count: int) -> tuple[np.ndarray, np.ndarray]:
    """A bright bar on each picture, whose row is its class."""
    labels = np.arange(count) % 10
    images = np.random.default_rng(count).integers(0, 40, (count, 28, 28))
    for image, label in zip(images, labels, strict=True):
        image[2 + 2 * label : 6 + 2 * label, 4:24] = 230
    return images, labels


def write_folder(folder: Path, zipped: bool) -> Path:
    folder.mkdir()
    arrays = [*pictures(400), *pictures(60)]
    for name, values in zip(FILES, arrays, strict=True):
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(values)))
        else:
            (folder / name).write_bytes(idx(values))
    return folder


@pytest.mark.parametrize(
    ("recipe", "zipped", "changes"),
    [
        ("mnist-mlp", False, ["model.hidden=16", "train.epochs=4"]),
        ("mnist-lenet", True, ["train.steps=4"]),
        ("fashion-mnist-lenet", True, ["train.steps=4"]),
    ],
)
def test_the_recipe_trains_on_idx_files_and_predicts_a_picture(
    quick: ForkServer, tmp_path: Path, recipe: str, zipped: bool, changes: list[str]
) -> None:
    write_folder(tmp_path / "idx", zipped)
    ended = quick("train", recipe, *changes, "--data", "idx", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    sizes = json.loads((tmp_path / "run" / "data.json").read_text())["sizes"]
    assert sizes == {"train": 340, "validation": 60, "test": 60}
    Image.fromarray(pictures(1)[0][0].astype(np.uint8)).save(tmp_path / "bar.png")
    answer = quick("predict", "run", "bar.png", "--json", cwd=tmp_path).json["predictions"][0]
    assert len(answer["probabilities"]) == 10
    if recipe == "mnist-mlp":
        assert ended.json["test"]["accuracy"] > 0.9
        assert answer["label"] == "0"
    if recipe == "fashion-mnist-lenet":
        assert "ankle boot" in answer["probabilities"]
    figures = quick("evaluate", "run", "--json", cwd=tmp_path).json
    assert {key: figures[key] for key in ended.json["test"]} == ended.json["test"]


def test_the_folder_of_the_data_is_remembered_wherever_the_run_is_used_from(quick: ForkServer, tmp_path: Path) -> None:
    write_folder(tmp_path / "idx", zipped=False)
    arguments = ("train", "mnist-mlp", "model.hidden=8", "train.steps=3", "--data", "idx", "--out", "run", "--json")
    trained = quick(*arguments, cwd=tmp_path)
    assert trained.code == 0, trained.err
    (tmp_path / "elsewhere").mkdir()
    ended = quick("evaluate", "../run", "--json", cwd=tmp_path / "elsewhere")
    assert ended.json["loss"] == trained.json["test"]["loss"]
