"""A run that is killed, at any moment and any number of times, ends to the bit like one that was left alone."""

import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import check_same, check_sound, finish, gradlab, kill_after, line_count, start, wait_until

Exact = Callable[[str], Path]
Commands = dict[str, list[str]]
Moment = Callable[[Path], bool]

EVERY = ["momentum", "dropout", "lbfgs", "averaged", "carried", "players", "pixels", "diffusion", "drawn"]
KILL_POINTS = 8  # random ones for each recipe in the slow part, every other of them followed by a second


def kill_at(moment: Moment, run: Path, process: subprocess.Popen[str]) -> None:
    assert wait_until(lambda: moment(run), process), "the run ended before its moment came"
    process.send_signal(signal.SIGKILL)
    assert finish(process).code == -signal.SIGKILL


def resume_and_compare(run: Path, reference: Path) -> None:
    check_sound(run)
    ended = gradlab("resume", run.name, cwd=run.parent)
    assert ended.code == 0, ended.err
    check_same(run, reference)
    check_sound(run)
    assert not list((run / "checkpoints").glob(".*"))


def kill_at_random(seed: str, reference: Path, command: list[str], folder: Path, kills: int) -> None:
    """Kill when the log has some random number of lines, then again later on, and compare what comes out."""
    generator, total, run = random.Random(seed), line_count(reference), folder / "run"
    arguments: list[object] = [*command, "--out", "run"]
    for _ in range(kills):
        least = line_count(run) + 1
        if least > total - 2:
            break
        ended = kill_after(run, generator.randint(least, total - 2), *arguments, cwd=folder)
        assert ended.code == -signal.SIGKILL, ended.err
        arguments = ["resume", "run"]
    resume_and_compare(run, reference)


@pytest.mark.parametrize(
    ("name", "point"),
    [(name, 0) for name in ("momentum", "lbfgs", "carried", "players", "pixels", "diffusion", "drawn")],
)
def test_a_run_killed_at_a_random_moment_ends_the_same(
    exact: Exact, commands: Commands, tmp_path: Path, name: str, point: int
) -> None:
    kill_at_random(f"{name} {point}", exact(name), commands[name], tmp_path, kills=1)


@pytest.mark.slow
@pytest.mark.parametrize("point", range(1, KILL_POINTS + 1))
@pytest.mark.parametrize("name", EVERY)
def test_a_run_killed_at_random_moments_ends_the_same(
    exact: Exact, commands: Commands, tmp_path: Path, name: str, point: int
) -> None:
    kill_at_random(f"{name} {point}", exact(name), commands[name], tmp_path, kills=1 + point % 2)


def while_saving(run: Path) -> bool:
    """A checkpoint is being written: its temporary folder is there, and it is not the first."""
    folder = run / "checkpoints"
    return any(folder.glob("step-*")) and any(folder.glob(".step-*"))


def while_evaluating(run: Path) -> bool:
    """The training sample has been judged and the validation split is being judged."""
    return line_count(run) > 30 and b"train-sample" in (run / "metrics.jsonl").read_bytes().splitlines()[-1]


def before_the_first_checkpoint(run: Path) -> bool:
    return line_count(run) >= 2


def after_the_last_step(run: Path) -> bool:
    """The figures are there; the report is not."""
    return (run / "result.json").exists()


MOMENTS = [while_saving, while_evaluating, before_the_first_checkpoint, after_the_last_step]


@pytest.mark.parametrize(("name", "moment"), [("dropout", while_saving), ("momentum", before_the_first_checkpoint)])
def test_a_run_killed_at_a_chosen_moment_ends_the_same(
    exact: Exact, commands: Commands, tmp_path: Path, name: str, moment: Moment
) -> None:
    reference, run = exact(name), tmp_path / "run"
    kill_at(moment, run, start(*commands[name], "--out", "run", cwd=tmp_path))
    resume_and_compare(run, reference)
    assert (run / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", EVERY)
def test_every_recipe_survives_the_chosen_moments(
    exact: Exact, commands: Commands, tmp_path: Path, name: str, moment: Moment
) -> None:
    run = tmp_path / "run"
    kill_at(moment, run, start(*commands[name], "--out", "run", cwd=tmp_path))
    resume_and_compare(run, exact(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_run_killed_again_and_again_while_saving_ends_the_same(
    exact: Exact, commands: Commands, tmp_path: Path, name: str
) -> None:
    run = tmp_path / "run"
    arguments: list[object] = [*commands[name], "--out", "run"]
    for _ in range(4):
        known = line_count(run)
        process = start(*arguments, cwd=tmp_path)
        kill_at(lambda run, known=known: line_count(run) > known and while_saving(run), run, process)
        arguments = ["resume", "run"]
    resume_and_compare(run, exact(name))
