"""A damaged checkpoint is named and passed over; what is left ends to the same bits."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, check_same, check_sound, checkpoints, contents, flip_byte, gradlab

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


def test_state_of_another_version_is_not_a_traceback(
    quick: ForkServer, unfinished: Path, reference: Path, tmp_path: Path
) -> None:
    """Sums that are right over content that is not: as a later version might write it."""
    import hashlib

    newest = checkpoints(unfinished)[-1]
    state = json.loads((newest / "state.json").read_text())
    state["progress"]["mood"] = "good"
    (newest / "state.json").write_text(json.dumps(state))
    names = sorted(path.name for path in newest.iterdir() if path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256((newest / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (newest / "SHA256SUMS").write_text("".join(sums))
    ended = quick("resume", unfinished, cwd=tmp_path)
    assert "Traceback" not in ended.err
    if ended.code == 0:
        check_same(unfinished, reference)
    else:
        check_refused(ended, newest.name)
