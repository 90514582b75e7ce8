"""Pictures of one's own in a folder for each class: diffusion is told the classes, and draws those asked for."""

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import ForkServer, check_refused
from PIL import Image

SMALL = ["images-diffusion", "--data", "pictures", "model.width=8", "model.multiples=1,2", "model.blocks=1"]
SMALL += ["train.steps=3", "task.sampling_steps=2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bright pictures and dark ones."""
    folder, random = tmp_path_factory.mktemp("own"), np.random.default_rng(0)
    for name, low in (("bright", 150), ("dark", 0)):
        (folder / "pictures" / name).mkdir(parents=True)
        for number in range(12):
            pixels = random.integers(low, low + 100, (14, 14, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "pictures" / name / f"{number}.png")
    return folder


def test_classes_are_those_of_the_folders_where_they_are_asked_for(quick: ForkServer, folder: Path) -> None:
    told = [*SMALL, "task.conditional=true"]
    check_refused(quick("train", *told, "--out", "none", cwd=folder), "these have none", "data=images")
    assert not (folder / "none").exists()
    ended = quick("train", *told, "data=images", "--out", "told", cwd=folder)
    assert ended.code == 0, ended.err
    drawn = quick("generate", "told", "-n", 5, "--class", "dark", "--out", "dark.npz", "--json", cwd=folder)
    assert drawn.json["classes"] == {"dark": 5}
    assert np.load(folder / "dark.npz")["x"].shape == (5, 3, 14, 14)
