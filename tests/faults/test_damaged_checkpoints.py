"""A damaged checkpoint is named and passed over; what is left ends to the same bits."""

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import (
    Finished,
    ForkServer,
    check_refused,
    check_same,
    check_sound,
    checkpoints,
    contents,
    flip_byte,
    gradlab,
)

from gradlab.files import write_sums

FILES = ["model.safetensors", "best.safetensors", "optimizer.safetensors", "state.json", "SHA256SUMS"]


def truncate(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "a flipped bit in the middle of": flip_byte,
    "a flipped bit at the start of": lambda path: flip_byte(path, 0),
    "a flipped bit at the end of": lambda path: flip_byte(path, -1),
    "half of": truncate,
    "nothing in": empty,
    "the absence of": Path.unlink,
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_resume_goes_on_from_the_checkpoint_before(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path, damage: str, file: str
) -> None:
    newest = checkpoints(unfinished)[-1]
    DAMAGE[damage](newest / file)
    ended = quick("resume", unfinished, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert newest.name in ended.err
    assert file in ended.err
    assert "step 45" in ended.err
    assert "resuming at step 45" in ended.out
    check_same(unfinished, reference)
    check_sound(unfinished)


def test_resume_goes_back_as_far_as_it_must(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path
) -> None:
    _, *newer = checkpoints(unfinished)
    for folder in newer:
        flip_byte(folder / "model.safetensors")
    ended = quick("resume", unfinished, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert all(folder.name in ended.err for folder in newer)
    assert "resuming at step 30" in ended.out
    check_same(unfinished, reference)


def test_resume_starts_at_the_beginning_when_no_checkpoint_is_sound(unfinished: Path, reference: Path) -> None:
    for folder, file in zip(checkpoints(unfinished), ["model.safetensors", "SHA256SUMS", "state.json"], strict=True):
        flip_byte(folder / file, 10)
    ended = gradlab("resume", "run", cwd=unfinished.parent)
    assert ended.code == 0, ended.err
    assert "step 0" in ended.err or "beginning" in ended.err
    check_same(unfinished, reference)
    check_sound(unfinished)


def test_resume_starts_at_the_beginning_when_there_is_no_checkpoint(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path
) -> None:
    shutil.rmtree(unfinished / "checkpoints")
    assert quick("resume", unfinished, cwd=tmp_path).code == 0
    check_same(unfinished, reference)


def test_a_torn_last_line_of_the_metrics_is_written_anew(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path
) -> None:
    shutil.rmtree(checkpoints(unfinished)[-1])
    log = unfinished / "metrics.jsonl"
    log.write_bytes(log.read_bytes()[:-30])
    assert quick("resume", unfinished, cwd=tmp_path).code == 0
    check_same(unfinished, reference)


@pytest.mark.parametrize("content", [b"\xff\xfe garbage \x00", b"", b'{"step": 12'])
def test_metrics_that_are_lost_do_not_stop_a_run(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path, content: bytes
) -> None:
    """The lines before the checkpoint are gone; the weights are what they were."""
    (unfinished / "metrics.jsonl").write_bytes(content)
    ended = quick("resume", unfinished, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (checkpoints(unfinished)[-1] / "model.safetensors").read_bytes() == (
        checkpoints(reference)[-1] / "model.safetensors"
    ).read_bytes()


def test_leftovers_of_a_save_that_was_cut_short_are_cleared_away(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path
) -> None:
    for name in (".step-00000050-0123abcd", ".step-00000030-4567cdef"):
        shutil.copytree(checkpoints(unfinished)[0], unfinished / "checkpoints" / f"{name}.new")
        (unfinished / "checkpoints" / f"{name}.writing").touch()
    shutil.rmtree(checkpoints(unfinished)[-1])
    assert quick("resume", unfinished, cwd=tmp_path).code == 0
    check_same(unfinished, reference)
    assert not list((unfinished / "checkpoints").glob(".*"))


@pytest.mark.parametrize("name", ["predict", "evaluate", "resume"])
def test_a_finished_run_whose_newest_checkpoint_is_damaged_says_so(
    quick: ForkServer, finished: Path, tmp_path: Path, name: str
) -> None:
    newest = checkpoints(finished)[-1]
    flip_byte(newest / "best.safetensors")
    before = contents(finished)
    arguments = [name, finished, *(["1,2"] if name == "predict" else [])]
    ended = quick(*arguments, "--json", cwd=tmp_path)
    assert "Traceback" not in ended.err
    assert contents(finished) == before
    if name == "resume":  # has its figures, and needs no weights
        assert ended.code == 0
    else:
        assert newest.name in ended.err
        assert ended.code in (0, 2)


def test_a_finished_run_without_a_sound_checkpoint_names_the_damage(
    quick: ForkServer, finished: Path, tmp_path: Path
) -> None:
    for folder in checkpoints(finished):
        flip_byte(folder / "model.safetensors")
    check_refused(quick("predict", finished, "1,2", cwd=tmp_path), "step-00000060", "model.safetensors")


def nested_keys(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a nested content has dictionaries, key by key."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield (*path, key)
            yield from nested_keys(value, (*path, key))
    elif isinstance(content, list) and content:
        yield from nested_keys(content[0], (*path, 0))


def rename(content: Any, path: tuple[Any, ...]) -> Any:
    """The content with another name for one of its keys."""
    changed = copy.deepcopy(content)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[f"{path[-1]}x"] = place.pop(path[-1])
    return changed


def write_state(folder: Path, state: Any) -> None:
    """Put a state into a checkpoint, under sums that are right: as a later version might write it."""
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "SHA256SUMS").unlink()
    write_sums(folder)


@pytest.fixture(scope="module")
def averaged(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unfinished run with an average, a schedule that follows evaluations, and one checkpoint in mid-window."""
    folder = tmp_path_factory.mktemp("averaged")
    options = ["data.examples=60", "model.hidden=4", "train.ema=0.9", "train.schedule=plateau", "train.steps=9"]
    often = ["train.log_every=4", "train.evaluate_every=3", "train.checkpoint_every=6", "train.keep=last"]
    assert quick("train", "moons-mlp", *options, *often, "--out", "run", "--json", cwd=folder).code == 0
    for path in (folder / "run" / "result.json", folder / "run" / "report.html"):
        path.unlink()
    shutil.rmtree(checkpoints(folder / "run")[-1])
    return folder / "run"


def resume_with(quick: ForkServer, run: Path, state: Any, folder: Path) -> Finished:
    copied = Path(shutil.copytree(run, folder / "run"))
    write_state(checkpoints(copied)[-1], state)
    ended = quick("resume", "run", "--json", cwd=folder)
    shutil.rmtree(copied)
    return ended


# Names of losses and figures are the task's own, and others may watch than did then.
FREE = [("progress", "window"), ("progress", "best"), ("optimizer", "observers")]


@pytest.mark.slow
def test_every_renamed_key_of_a_state_is_one_message(quick: ForkServer, averaged: Path, tmp_path: Path) -> None:
    state = json.loads((checkpoints(averaged)[-1] / "state.json").read_text())
    keys = [path for path in nested_keys(state) if path[:2] not in FREE]
    assert len(keys) > 15
    for path in keys:
        ended = resume_with(quick, averaged, rename(state, path), tmp_path)
        if ended.code == 0:  # another checkpoint, or the beginning, was taken
            assert "is damaged" in ended.err, path
        else:
            check_refused(ended, "step-00000006")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("progress", "trace"), {"factorx": 1.0, "loss": 0.5, "evaluations": 0}),
        (("progress", "window"), {"loss": []}),
        (("progress", "step"), -5),
        (("progress", "step"), 10**9),
        (("progress", "best_step"), 8),
        (("progress", "lr"), -1.0),
        (("progress", "mood"), "good"),
        (("progress",), {}),
        (("rng",), {}),
        (("optimizer", "average"), {}),
    ],
    ids=str,
)
def test_state_that_no_training_has_is_refused(
    quick: ForkServer, averaged: Path, tmp_path: Path, place: tuple[str, ...], value: Any
) -> None:
    state = json.loads((checkpoints(averaged)[-1] / "state.json").read_text())
    inner = state
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    check_refused(resume_with(quick, averaged, state, tmp_path), "step-00000006")
