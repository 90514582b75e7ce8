"""Pictures of one's own without classes: diffusion learns them, and what needs classes is refused in a line."""

import numpy as np
import pytest
from cli_helpers import check_refused
from PIL import Image

SMALL = ["model.width=8", "model.multiples=1,1", "model.blocks=1", "train.steps=2", "task.sampling_steps=2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    draw = np.random.default_rng(0)
    (folder / "mine" / "below").mkdir(parents=True)
    for i in range(12):
        pixels = draw.integers(0, 256, (8 + i % 2, 8), dtype=np.uint8)  # of two sizes
        Image.fromarray(pixels).save(folder / "mine" / ("below" if i % 3 else ".") / f"{i}.png")
    (folder / "mine" / "notes.txt").write_text("no picture")
    return folder


def test_all_pictures_below_a_folder_are_learned_and_drawn(folder, quick):
    ended = quick("train", "images-diffusion", "--data", "mine", *SMALL, "--out", "run", "--plain", cwd=folder)
    assert ended.code == 0, ended.err
    assert "Passed over 1 file" in ended.out
    assert "brought to 8×8" in ended.out
    assert "task.compared=100" in ended.out  # what is smaller than on a GPU
    assert "model.width=16" not in ended.out  # but for what was set by hand
    assert "PCA + Gaussian" not in ended.out  # there are too few examples to say anything of it
    assert "loss" in quick("evaluate", "run", "--json", cwd=folder).json
    drawn = quick("generate", "run", "-n", "3", "--out", "drawn.npz", cwd=folder)
    assert drawn.code == 0, drawn.err
    x = np.load(folder / "drawn.npz")["x"]
    assert x.shape == (3, 1, 8, 8)
    assert np.isfinite(x).all()


def test_what_needs_classes_is_refused(folder, quick):
    conditional = quick("train", "images-diffusion", "task.conditional=true", "--data", "mine", *SMALL, cwd=folder)
    check_refused(conditional, "task.conditional=true needs examples with classes, and these have none")
    check_refused(
        quick("train", "images", "data=pictures", "--data", "mine", cwd=folder),
        "data=pictures are examples without labels, which this task learns from",
    )
    asked = quick("generate", "run", "--class", "cat", cwd=folder)
    check_refused(asked, "not class-conditional")
    check_refused(quick("generate", "run", "--guidance", "2", cwd=folder), "nothing guides it")


def test_a_folder_without_pictures_is_refused(folder, quick):
    (folder / "empty").mkdir()
    check_refused(quick("train", "images-diffusion", "--data", "empty", cwd=folder), "empty has no pictures")
    check_refused(quick("train", "images-diffusion", "--data", "missing", cwd=folder), "missing is not a folder")
