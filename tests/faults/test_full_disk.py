"""No room left while saving: the run stops with what it has, and goes on to the same bits when there is room."""

import json
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_helpers import (
    ForkServer,
    check_refused,
    check_same,
    check_sound,
    checkpoints,
    finish,
    gradlab,
    start,
    wait_until,
)

# No file of a process may grow beyond so many bytes: writes then fail as on a full disk.
LARGE = 30_000  # less than a checkpoint of the digits takes, more than its other files


@pytest.fixture
def stopped(exact: Callable[[str], Path], tmp_path: Path) -> Path:
    """The run with momentum as it stood at its last checkpoint but one."""
    run = Path(shutil.copytree(exact("momentum"), tmp_path / "run"))
    (run / "result.json").unlink()
    (run / "report.html").unlink()
    shutil.rmtree(checkpoints(run)[-1])
    return run


def test_a_checkpoint_that_finds_no_room_ends_the_run_and_loses_nothing(
    exact: Callable[[str], Path], quick: ForkServer, commands: dict[str, list[str]], tmp_path: Path
) -> None:
    """The disk fills up in mid-training."""
    process = start(*commands["momentum"], "--out", "run", cwd=tmp_path)
    run = tmp_path / "run"
    assert wait_until(lambda: len(checkpoints(run)) >= 2, process)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (LARGE, LARGE))
    check_refused(finish(process), "gradlab resume run", code=1)
    assert checkpoints(run)
    check_sound(run)
    assert not (run / "result.json").exists()
    ended = quick("resume", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    check_same(run, exact("momentum"))
    assert not list((run / "checkpoints").glob(".*"))


@pytest.mark.slow
def test_resuming_without_room_keeps_the_checkpoint_it_came_from(
    exact: Callable[[str], Path], quick: ForkServer, stopped: Path
) -> None:
    before = [path.name for path in checkpoints(stopped)]
    # The metrics log alone has room; it is longer than a checkpoint is.
    size = (stopped / "metrics.jsonl").stat().st_size
    (stopped / "metrics.jsonl").write_text("")
    assert size > LARGE
    ended = finish(start("resume", "run", cwd=stopped.parent, file_size=LARGE))
    check_refused(ended, "checkpoint", "gradlab resume run", code=1)
    assert [path.name for path in checkpoints(stopped)] == before
    check_sound(stopped)
    assert quick("resume", "run", cwd=stopped.parent).code == 0
    newest = checkpoints(stopped)[-1] / "model.safetensors"
    assert newest.read_bytes() == (checkpoints(exact("momentum"))[-1] / "model.safetensors").read_bytes()


def test_a_first_checkpoint_without_room_says_that_there_is_none(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ["train", "digits-softmax", "train.steps=8", "train.checkpoint_every=4", "--json", "--out"]
    ended = finish(start(*arguments, "run", cwd=tmp_path, file_size=2000))
    check_refused(ended, "step 4", "none", "gradlab resume run", code=1)
    assert checkpoints(tmp_path / "run") == []
    assert quick("resume", "run", "--json", cwd=tmp_path).code == 0
    assert quick(*arguments, "other", cwd=tmp_path).code == 0
    check_same(tmp_path / "run", tmp_path / "other")


def test_a_metrics_log_that_finds_no_room_ends_the_run_and_loses_nothing(quick: ForkServer, tmp_path: Path) -> None:
    arguments = [
        "train", "moons-mlp", "model.hidden=4", "train.steps=120", "train.log_every=1", "train.checkpoint_every=7",
        "--json", "--out",
    ]  # fmt: skip
    ended = finish(start(*arguments, "run", cwd=tmp_path, file_size=15_000))
    check_refused(ended, "metrics.jsonl", "gradlab resume run", code=1)
    run = tmp_path / "run"
    assert checkpoints(run)
    check_sound(run)
    resumed = quick("resume", "run", "--json", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert quick(*arguments, "other", cwd=tmp_path).code == 0
    check_same(run, tmp_path / "other")


def test_a_report_that_finds_no_room_leaves_the_result(quick: ForkServer, tmp_path: Path) -> None:
    arguments = ["train", "iris-softmax", "train.epochs=2", "--out", "run"]
    ended = finish(start(*arguments, cwd=tmp_path, file_size=500_000))
    check_refused(ended, "report.html", code=1)
    run = tmp_path / "run"
    result = json.loads((run / "result.json").read_text())
    assert not [path.name for path in run.iterdir() if "report" in path.name]
    assert quick("resume", "run", "--json", cwd=tmp_path).json["test"] == result["test"]
    assert (run / "report.html").is_file()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 420 KiB, where mounting one is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=420k", "tmpfs", str(folder)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("mounting a file system is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_file_system_that_is_full_ends_the_run_and_loses_nothing(
    exact: Callable[[str], Path], quick: ForkServer, commands: dict[str, list[str]], small_disk: Path
) -> None:
    ended = gradlab(*commands["momentum"], "--out", "run", cwd=small_disk)
    run = small_disk / "run"
    check_refused(ended, "No space left", "gradlab resume run", code=1)
    assert checkpoints(run)
    check_sound(run)
    subprocess.run(["mount", "-o", "remount,size=30m", str(small_disk)], check=True)
    resumed = quick("resume", "run", cwd=small_disk)
    assert resumed.code == 0, resumed.err
    check_same(run, exact("momentum"))
