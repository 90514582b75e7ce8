"""`gradlab play`, and trainings on tables from the command line: killed and resumed, and what is refused."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import check_refused, check_same, gradlab, kill_after
from PIL import Image
from rich.console import Console

from gradlab.cli.playing import _report_steps
from gradlab.run.playing import Moment

SMALL = ["data.steps=1600", "data.env.map=..G/S.X", "data.validation=5", "data.test=10", "train.evaluate_every=100"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("playing")
    ended = gradlab("train", "grid-qlearning", *SMALL, "--out", "run", "--plain", cwd=folder)
    assert ended.code == 0, ended.err
    return folder


def test_episodes_are_played_and_drawn_one_frame_after_another(folder):
    ended = gradlab("play", "run", "--episodes", "2", "--plain", cwd=folder)
    assert ended.code == 0, ended.err
    assert "@ . G" in ended.out
    assert ". . @\nS . X" in ended.out  # the goal is reached, and seen
    assert "episode 2" in ended.out
    assert "on average" in ended.out


def test_the_test_split_is_what_is_played_first(folder):
    played = json.loads(gradlab("play", "run", "-n", "10", "--json", cwd=folder).out)
    result = json.loads((folder / "run" / "result.json").read_text())
    assert played["return"] == pytest.approx(result["test"]["return"])
    assert sum(played["lengths"]) / 10 == pytest.approx(result["test"]["episode_length"])
    others = json.loads(gradlab("play", "run", "-n", "10", "--seed", "10", "--json", cwd=folder).out)
    assert others["returns"] != played["returns"]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_of_long_episodes_is_shown(terminal):
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    played = [Moment(1, np.zeros(1), [], 0.0, length, False) for length in range(1, 1002)]
    assert list(_report_steps(played, screen, 3)) == played
    shown = screen.file.getvalue()
    if terminal:
        assert "episode 2 of 3, step" in shown
    else:
        assert [line.split() for line in shown.splitlines()] == [
            ["episode", "2", "step", "500"],
            ["episode", "2", "step", "1,000"],
        ]


def test_writing_of_a_gif_is_announced(folder):
    ended = gradlab("play", "run", "-n", "1", "--out", "announced.gif", cwd=folder)
    assert ended.code == 0, ended.err
    assert ended.out.index("episode 1") < ended.out.index("writing") < ended.out.index("written")


def test_what_is_seen_is_written_as_a_gif(folder):
    ended = gradlab("play", "run", "-n", "1", "--out", "grid.gif", "--json", cwd=folder)
    steps = json.loads(ended.out)["lengths"][0]
    with Image.open(folder / "grid.gif") as picture:
        assert picture.n_frames == steps + 1


def test_the_report_has_the_policy_and_its_values(folder):
    page = (folder / "run" / "report.html").read_text()
    assert "the greedy action in it" in page
    assert "grid</b> for 200 steps" in page
    assert "Gradient norm" not in page  # it has none


@pytest.mark.parametrize(("model", "task"), [("sarsa", "temporal-difference"), ("monte-carlo", "monte-carlo")])
def test_a_killed_training_ends_with_the_bits_of_one_that_was_not(folder, model, task):
    few = ["data.steps=160000", "train.steps=120", "train.evaluate_every=20", "train.checkpoint_every=10"]
    command = ["train", "grid-qlearning", f"model={model}", f"task={task}", *SMALL, *few, "--plain"]
    whole = gradlab(*command, "--out", f"{model}-whole", cwd=folder)
    assert whole.code == 0, whole.err
    killed = kill_after(folder / f"{model}-killed", 4, *command, "--out", f"{model}-killed", cwd=folder)
    assert killed.code == -9
    resumed = gradlab("resume", f"{model}-killed", "--plain", cwd=folder)
    assert resumed.code == 0, resumed.err
    check_same(folder / f"{model}-killed", folder / f"{model}-whole")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["train", "grid-sarsa", "task.discount=1.5"], "task.discount"),
        (["train", "grid-sarsa", "task.discount=-0.1"], "task.discount"),
        (["train", "grid-sarsa", "data.env.map=S.."], "a start S and a goal G"),
        (["train", "grid-value-iteration", "data.env=table", "data.env.file=wrong.json"], "sums to 0.9"),
        (["train", "grid-value-iteration", "data.env=table", "data.env.file=none.json"], "none.json"),
        (["train", "grid-value-iteration", "model=sarsa"], "needs model=value-iteration"),
        (["play", "run", "--episodes", "0"], "at least one must be played"),
        (["play", "run", "--out", "grid.mp4"], "ending in .gif"),
        (["play", "nowhere"], "nowhere"),
    ],
)
def test_what_is_refused_is_named(folder, command, message):
    (folder / "wrong.json").write_text('{"transition": [[[0.5, 0.4]], [[0, 1]]], "rewards": [[0], [0]]}')
    check_refused(gradlab(*command, cwd=folder), message)


def test_a_run_that_does_not_act_is_not_played(folder):
    ended = gradlab("train", "digits-mlp", "train.steps=2", "--out", "linear", "--plain", cwd=folder)
    assert ended.code == 0, ended.err
    check_refused(gradlab("play", "linear", cwd=folder), "whose model does not act. Use it by gradlab predict.")
