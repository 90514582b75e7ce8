"""`gradlab sweep`: by one process, by several, and after a kill."""

import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import (
    ForkServer,
    check_refused,
    environment,
    finish,
    gradlab,
    kill_after,
    line_count,
    signal_after,
    start,
    wait_until,
)

SPACE = ["train.lr=1e-4:1:log", "model.hidden=4/8,8"]
SMALL = ["sweep", "moons-mlp", *SPACE, "data.examples=120", "train.steps=12", "train.evaluate_every=4"]
# Long enough to be killed in the middle of a trial.
LONGER = [
    "sweep", "digits-mlp", "train.lr=1e-4:1e-1:log", "model.hidden=32/64", "train.epochs=6", "train.log_every=5",
    "train.checkpoint_every=14", "--trials", "4",
]  # fmt: skip


def trials_of(printed: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What must be equal in two searches."""
    return [(t["number"], t["changes"], t["ended"], t["value"]) for t in printed["trials"]]


def test_a_sweep_prints_its_best_values_and_the_command_that_trains_them(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick(*SMALL, "--trials", "4", "--out", "search", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len(re.findall(r"^trial +\d", ended.out, re.MULTILINE)) == 4
    found = re.search(r"^train +gradlab (train moons-mlp .*)$", ended.out, re.MULTILINE)
    assert found, ended.out
    again = quick(*shlex.split(found[1]), "--out", "again", "--json", cwd=tmp_path)
    assert again.code == 0, again.err
    result = json.loads((tmp_path / "search" / "study.json").read_text())["result"]
    assert again.json["validation"]["accuracy"] == result["best"]["value"]
    assert quick("evaluate", result["run"], "--json", cwd=tmp_path).code == 0  # kept in full
    assert (tmp_path / "search" / "report.html").exists()


def test_json_is_one_object(quick: ForkServer, tmp_path: Path) -> None:
    printed = quick(*SMALL, "--trials", "2", "--metric", "loss", "--json", cwd=tmp_path).json
    assert printed["study"] == "sweep"
    assert printed["metric"] == "loss"
    assert re.fullmatch(r"runs/moons-mlp-sweep-[0-9a-f]{4}", printed["out"])
    assert printed["space"] == {"train.lr": "0.0001:1:log", "model.hidden": "4/8,8"}
    assert (tmp_path / printed["out"] / "study.db").exists()


def test_a_killed_sweep_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = gradlab(*LONGER, "--out", "whole/search", "--json", cwd=tmp_path)
    assert whole.code == 0, whole.err
    trial = tmp_path / "search" / "trials" / "trial-1"
    killed = kill_after(trial, 20, *LONGER, "--out", "search", "--json", cwd=tmp_path)
    assert killed.code == -9
    again = gradlab(*LONGER, "--out", "search", "--json", cwd=tmp_path)
    assert again.code == 0, again.err
    assert trials_of(again.json) == trials_of(whole.json)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    trial = tmp_path / "search" / "trials" / "trial-1"
    stopped = signal_after(signal.SIGINT, trial, 20, *LONGER, "--out", "search", cwd=tmp_path)
    check_refused(stopped, "Go on with: gradlab sweep digits-mlp", "--trials 4", "--out search", code=130)
    command = shlex.split(stopped.err.split("Go on with: gradlab ")[1])
    ended = gradlab(*command, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len(ended.json["trials"]) == 4


def test_two_workers_share_the_trials(tmp_path: Path) -> None:
    ended = gradlab(*SMALL, "--trials", "4", "--jobs", "2", "--out", "search", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert [t["number"] for t in ended.json["trials"]] == [0, 1, 2, 3]
    assert len({t["changes"]["train.lr"] for t in ended.json["trials"]}) == 4
    assert {t["ended"] for t in ended.json["trials"]} <= {"complete", "pruned"}


def running(folder: Path) -> int:
    """Trials that the database takes for running."""
    with sqlite3.connect(folder / "study.db", timeout=30) as database:
        (count,) = database.execute("SELECT COUNT(*) FROM trials WHERE state = 'RUNNING'").fetchone()
    return int(count)


def workers_of(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(child) for child in found]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent_and_the_search_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    command = [*LONGER[:-2], "--jobs", "2", "--out", "search", "--json"]
    search = tmp_path / "search"
    process = start(*command, "--trials", "1000", cwd=tmp_path)  # more than workers without a parent could end in time
    there = wait_until(lambda: line_count(search / "trials" / "trial-2") >= 10, process)
    assert there
    workers = workers_of(process.pid)
    process.send_signal(number)
    ended = finish(process)
    assert ended.code == (-number if number == signal.SIGKILL else 130)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    assert "Traceback" not in ended.err
    done = len(list((search / "trials").glob("trial-*/recipe.toml")))
    again = gradlab(*command, "--trials", done + 1, cwd=tmp_path)
    assert again.code == 0, again.err
    assert len(again.json["trials"]) == done + 1
    assert running(search) == 0


@pytest.mark.slow
def test_the_same_command_started_twice_shares_one_search(tmp_path: Path) -> None:
    command = [*LONGER[:-1], "8", "--out", "search", "--json"]
    processes = [start(*command, cwd=tmp_path) for _ in range(2)]
    ended = [finish(process) for process in processes]
    assert [one.code for one in ended] == [0, 0], [one.err for one in ended]
    final = gradlab(*command, cwd=tmp_path).json
    assert [t["number"] for t in final["trials"]] == list(range(8))
    assert running(tmp_path / "search") == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["moons-mlp"], ["something to search"]),
        (["moons-mlp", "train.lr=0.1"], ["something to search"]),
        (["moons-mlp", "train.lr=0.1:0.01"], ["train.lr=0.1:0.01"]),
        (["moons-mlp", "train.lr=0:1:log"], ["train.lr=0"]),
        (["moons-mlp", "model.hidden=8/x"], ["model.hidden=x"]),
        (["moons-mlp", "train.lr"], ["key=value"]),
        (["moons-mlp", "train.lt=0.1:1"], ["Did you mean 'lr'"]),
        (["moons-mpl", "train.lr=0.1:1"], ["Did you mean 'moons-mlp'"]),
        (["moons-mlp", "train.lr=0.1:1", "--trials", "0"], ["--trials 0"]),
        (["moons-mlp", "train.lr=0.1:1", "--jobs", "-1"], ["--jobs -1"]),
        (["moons-mlp", "train.lr=0.1:1", "--metric", "rmse"], ["metric", "accuracy"]),
        (["moons-mlp", "train.lr=0.1:1", "data.validation=0"], ["validation split"]),
        (["npz", "train.lr=0.1:1"], ["data.path"]),
    ],
)
def test_bad_requests_are_refused_before_anything_is_made(
    quick: ForkServer, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    check_refused(quick("sweep", *arguments, cwd=tmp_path), *words)
    assert list(tmp_path.iterdir()) == []


def test_without_optuna_the_command_to_install_it_is_told(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "from gradlab.cli import main\n"
        "main(['sweep', 'moons-mlp', 'train.lr=0.1:1'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment()
    )
    assert ended.returncode == 2
    assert 'pip install "gradlab[sweep]"' in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_teaches_by_example_and_imports_neither_torch_nor_optuna(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom gradlab.cli import main\n"
        "try: main(['sweep', '--help'])\nexcept SystemExit: print({'torch', 'optuna'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert ended.stdout.splitlines()[-1] == "set()"
    text = " ".join(ended.stdout.split())
    for example in ("train.lr=1e-4:1e-1:log", "model.hidden=64/128/128,128", "--jobs 2"):
        assert example in text
