"""Trainings on pictures that are drawn anew in each epoch, through the command line."""

import json
import signal
from pathlib import Path

import pytest
from cli_helpers import Finished, ForkServer, check_refused, check_same, gradlab, kill_after, line_count

SETTINGS = ("flip=alternating", "translate=1", "rotate=10", "contrast=0.2", "cutout=2", "mixup=0.3", "cutmix=1")
AUGMENT = [f"data.augment.{setting}" for setting in SETTINGS]
FEW = ["data.limit=200", "model.hidden=16", "train.batch_size=16", "train.log_every=1"]


def ended_well(ended: Finished) -> Finished:
    assert ended.code == 0, ended.err
    return ended


def test_a_killed_training_on_augmented_pictures_resumes_to_the_same_bits(quick: ForkServer, tmp_path: Path) -> None:
    command = ["train", "digits-mlp", *FEW, *AUGMENT, "train.epochs=20", "train.checkpoint_every=5"]  # of 13 steps
    ended_well(quick(*command, "--out", "whole", "--json", cwd=tmp_path))
    half = line_count(tmp_path / "whole") // 2
    killed = kill_after(tmp_path / "run", half, *command, "--out", "run", cwd=tmp_path)
    assert killed.code == -signal.SIGKILL, killed.err
    assert "resuming at step" in ended_well(gradlab("resume", "run", cwd=tmp_path)).out
    check_same(tmp_path / "run", tmp_path / "whole")


def test_evaluations_of_a_run_do_not_see_its_augmentation(quick: ForkServer, tmp_path: Path) -> None:
    """The weights have not moved, so that only what is seen could differ."""
    still = ["train", "digits-mlp", *FEW, "train.epochs=1", "train.lr=1e-30", "train.weight_decay=0"]
    for name, augment in (("plain", []), ("augmented", ["data.augment.rotate=90", "data.augment.mixup=1"])):
        ended_well(quick(*still, *augment, "--out", name, "--json", cwd=tmp_path))
    lines = {}
    for name in ("plain", "augmented"):
        read = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        splits = ("train-sample", "validation", "train")
        lines[name] = {split: [line["loss"] for line in read if line["split"] == split] for split in splits}
    assert lines["plain"]["train-sample"] == lines["augmented"]["train-sample"] != []
    assert lines["plain"]["validation"] == lines["augmented"]["validation"] != []
    assert lines["plain"]["train"] != lines["augmented"]["train"]
    plain, augmented = (ended_well(quick("evaluate", name, "--json", cwd=tmp_path)).json for name in lines)
    assert {**augmented, "run": "plain"} == plain


@pytest.mark.parametrize(
    ("recipe", "setting", "message"),
    [
        ("digits-mlp", "translate=8", "data.augment.translate=8 can leave nothing of a picture of 8×8 pixels"),
        ("digits-mlp", "cutout=8", "data.augment.cutout=8 can leave nothing"),
        ("digits-mlp", "rotate=-1", "data.augment.rotate=-1 is not valid"),
        ("digits-mlp", "saturation=0.5", "data.augment.saturation is for pictures in red, green and blue"),
        ("moons-mlp", "flip=true", "data.augment is for pictures, but the examples are tables of 2 columns"),
        ("pydoc-gpt", "flip=true", "There is no key in data, 'augment'"),
    ],
)
def test_what_leaves_nothing_or_is_not_for_these_data_is_refused(
    quick: ForkServer, tmp_path: Path, recipe: str, setting: str, message: str
) -> None:
    check_refused(quick("train", recipe, f"data.augment.{setting}", "--out", "x", cwd=tmp_path), message)
    assert not (tmp_path / "x").exists()


def test_data_show_draws_pictures_before_and_after(quick: ForkServer, tmp_path: Path) -> None:
    ended_well(quick("data", "show", "digits", "--out", "plain.html", cwd=tmp_path))
    settings = ["translate=1", "rotate=20", "mixup=1"]
    ended_well(quick("data", "show", "digits", "--out", "page.html", "--augment", *settings, cwd=tmp_path))
    page, plain = ((tmp_path / f"{name}.html").read_text() for name in ("page", "plain"))
    grid = page.split("<h2>Augmentation</h2>")[1].split("</table>")[0]
    cells = [row.split("<td>")[1:] for row in grid.split("<tr>")[2:]]
    heads = ["plain", "translate=1", "rotate=20.0", "mixup=1.0", "epoch 0", "epoch 1", "epoch 2"]
    assert [head.split("<")[0] for head in grid.split("<th>")[1:]] == heads
    images = [[cell.split('src="')[1].split('"')[0] for cell in row] for row in cells]
    assert [len(row) for row in images] == [7] * 8
    for row in images:
        assert len({row[0], *row[2:]}) == 6, "a move by whole pixels may be none"
        assert row[0].startswith("data:image/png")
    assert len({image for row in images for image in row[:2]}) > 8
    mixed = [[" + " in cell for cell in row] for row in cells]
    assert not any(any(row[:3]) for row in mixed), "targets are mixed by mixup alone"
    assert sum(sum(row[3:]) for row in mixed) > 24  # both targets, unless they are of one class
    assert "Augmentation" not in plain
    assert page.count("<img") == plain.count("<img") + 56
    ended_well(quick("data", "show", "digits", "--out", "one.html", "--augment", "rotate=20", cwd=tmp_path))
    assert "epoch 5" in (tmp_path / "one.html").read_text(), "one setting is all of them, in more epochs"


@pytest.mark.parametrize(
    ("source", "setting", "message"),
    [
        ("digits", "cutout=8", "data.augment.cutout=8 can leave nothing"),
        ("digits", "cutout", "'cutout' is neither of the form key=value"),
        ("moons", "flip=true", "data.augment is for pictures, but the examples are tables of 2 columns"),
    ],
)
def test_data_show_refuses_bad_settings(
    quick: ForkServer, tmp_path: Path, source: str, setting: str, message: str
) -> None:
    check_refused(quick("data", "show", source, "--augment", setting, "--out", "page.html", cwd=tmp_path), message)
    assert not (tmp_path / "page.html").exists()
