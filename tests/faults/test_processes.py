"""Several processes that train one run: started, killed, interrupted, resumed in any number, and refused."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_helpers import (
    Finished,
    ForkServer,
    Process,
    check_refused,
    check_same,
    check_sound,
    environment,
    finish,
    line_count,
    lines,
    losses,
    start,
    wait_until,
)

import gradlab

TORCHRUN = Path(sys.executable).with_name("torchrun")

pytestmark = pytest.mark.skipif(not TORCHRUN.exists(), reason="needs torchrun beside the interpreter")

# Its dropout draws in every step; log lines, evaluations and checkpoints fall on different ones.
NOISY = [
    "train", "moons-mlp", "data.examples=400", "model.hidden=16,16", "model.dropout=0.3", "train.epochs=40",
    "train.log_every=5", "train.evaluate_every=20", "train.checkpoint_every=7", "--out", "run",
]  # fmt: skip
PLAIN = [
    "train", "digits-mlp", "model.hidden=16", "train.epochs=12", "train.log_every=5", "train.evaluate_every=30",
    "train.checkpoint_every=7", "--out", "run",
]  # fmt: skip


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def member(rank: int, count: int, port: int) -> dict[str, str]:
    """What torchrun tells a process that it starts. Nothing leaves this machine."""
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return {name: str(value) for name, value in told.items()} | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


def begin(*commands: list[str], cwd: Path) -> list[Process]:
    """Processes that train together, each with a command of its own."""
    port = free_port()
    settings = (member(rank, len(commands), port) for rank in range(len(commands)))
    return [start(*command, cwd=cwd, env=environment(**told)) for command, told in zip(commands, settings, strict=True)]


def together(*commands: list[str], cwd: Path) -> list[Finished]:
    processes = begin(*commands, cwd=cwd)
    return [finish(process) for process in processes]


def torchrun(count: int, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
    options = ["--nproc-per-node", str(count), "--master-addr", "127.0.0.1", "--master-port", str(free_port())]
    command = [str(TORCHRUN), *options, "-m", "gradlab", *arguments]
    env = environment(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=cwd, env=env, **pipes)


def close(run: Path, reference: Path) -> None:
    """The same lines, their losses up to rounding."""
    ours, theirs = losses(run), losses(reference)
    assert [line[:2] for line in ours] == [line[:2] for line in theirs]
    assert [line[2] for line in ours] == pytest.approx([line[2] for line in theirs], rel=1e-4)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that two processes made and nobody disturbed."""
    folder = tmp_path_factory.mktemp("noisy")
    for ended in together(NOISY, NOISY, cwd=folder):
        assert ended.code == 0, ended.err
    return folder / "run"


# A run by torchrun.


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    folder = tmp_path_factory.mktemp("two")
    ended = finish(torchrun(2, "train", "digits-mlp", "train.epochs=3", "--out", "run", cwd=folder))
    assert ended.code == 0, ended.err
    return ended, folder / "run"


@pytest.fixture(scope="module")
def one(quick: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    folder = tmp_path_factory.mktemp("one")
    ended = quick("train", "digits-mlp", "train.epochs=3", "--out", "run", cwd=folder)
    assert ended.code == 0, ended.err
    return ended, folder / "run"


Trained = tuple[Finished, Path]


def test_a_run_of_two_processes_is_that_of_one_up_to_rounding(two: Trained, one: Trained) -> None:
    assert [line[:2] for line in losses(two[1])] == [line[:2] for line in losses(one[1])]
    assert [line[2] for line in losses(two[1])] == pytest.approx([line[2] for line in losses(one[1])], rel=1e-5)
    results = [json.loads((run / "result.json").read_text()) for _, run in (two, one)]
    for split in ("validation", "test"):
        assert results[0][split] == pytest.approx(results[1][split], rel=1e-5)
    assert (results[0]["steps"], results[0]["ended"]) == (results[1]["steps"], results[1]["ended"])


def test_the_folder_is_written_once_and_is_that_of_any_run(two: Trained, one: Trained) -> None:
    assert [path.name for path in two[1].parent.iterdir()] == ["run"]
    assert sorted(path.name for path in two[1].iterdir()) == sorted(path.name for path in one[1].iterdir())
    assert {"result.json", "report.html"} <= {path.name for path in two[1].iterdir()}
    check_sound(two[1])
    assert [json.loads((run / "environment.json").read_text())["processes"] for _, run in (two, one)] == [2, 1]


def test_the_report_evaluates_in_the_first_process_alone(noisy: Path) -> None:
    worth = [column.mean for column in gradlab.load_run(noisy).importance().columns]
    figures = re.findall(r'<script type="application/json">(.*?)</script>', (noisy / "report.html").read_text())
    bars = [json.loads(figure)["data"][0] for figure in figures if "error_x" in figure]
    assert [bar["x"] for bar in bars] == [pytest.approx(worth, rel=1e-5)]


def test_only_the_first_process_prints(two: Trained, one: Trained) -> None:
    def words(ended: Finished) -> list[str]:
        return [line.split()[0] for line in ended.out.splitlines() if line.split()]

    assert "processes    2, each with its part of every batch" in two[0].out
    assert [word for word in words(two[0]) if word != "processes"] == words(one[0])
    assert "gradlab" not in two[0].err
    assert "Warning" not in two[0].err


# Killed and resumed.


def kill_one(victim: int, folder: Path, count: int = 2, arguments: list[str] = NOISY) -> list[Finished]:
    """Two processes, of which one is killed in the middle."""
    processes = begin(*[arguments] * count, cwd=folder)
    assert wait_until(lambda: line_count(folder / "run") >= 25, processes[0])
    processes[victim].send_signal(signal.SIGKILL)
    return [finish(process) for process in processes]


def check_others(ended: list[Finished], victim: int) -> None:
    assert ended.pop(victim).code == -signal.SIGKILL
    for other in ended:
        assert other.code == 1
        assert "Traceback" not in other.err
        assert "Another of the " in other.err
        assert "gradlab resume" in other.err


@pytest.mark.parametrize("victim", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_when_one_process_is_killed_the_others_end_and_the_run_resumes_to_the_same_bits(
    noisy: Path, tmp_path: Path, victim: int
) -> None:
    check_others(kill_one(victim, tmp_path), victim)
    run = tmp_path / "run"
    assert not (run / "result.json").exists()
    check_sound(run)
    for ended in together(["resume", "run"], ["resume", "run"], cwd=tmp_path):
        assert ended.code == 0, ended.err
    check_same(run, noisy)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_a_run_of_two_processes_goes_on_in_another_number(tmp_path: Path, count: int) -> None:
    """Without dropout, so that only the order of sums differs."""
    check_others(kill_one(1, tmp_path, arguments=PLAIN), 1)
    run = tmp_path / "run"
    ended = together(*[["resume", "run"]] * count, cwd=tmp_path)
    assert [one.code for one in ended] == [0] * count, ended[0].err
    assert f"processes was 2 when this run began and is {count} now: expect other bits" in ended[0].err
    (tmp_path / "other").mkdir()
    assert [one.code for one in together(PLAIN, PLAIN, cwd=tmp_path / "other")] == [0, 0]
    close(run, tmp_path / "other" / "run")


@pytest.mark.slow
def test_torchrun_tells_of_a_killed_process_and_ends(tmp_path: Path) -> None:
    agent = torchrun(2, *NOISY, cwd=tmp_path)
    assert wait_until(lambda: line_count(tmp_path / "run") >= 25, agent)
    workers = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
    assert len(workers) == 2
    os.kill(int(workers[1]), signal.SIGKILL)
    ended = finish(agent)
    assert ended.code != 0
    assert "Another of the 2 processes that train together has ended" in ended.err or "SIGKILL" in ended.err
    check_sound(tmp_path / "run")


# Interrupted.


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_processes_that_are_interrupted_save_once_and_resume_to_the_same_bits(
    noisy: Path, tmp_path: Path, number: signal.Signals
) -> None:
    processes = begin(NOISY, NOISY, cwd=tmp_path)
    run = tmp_path / "run"
    assert wait_until(lambda: line_count(run) >= 25, processes[0])
    for process in processes:
        process.send_signal(number)
    ended = [finish(process) for process in processes]
    assert [one.code for one in ended] == [130, 130], ended[0].err + ended[1].err
    check_refused(ended[0], "saved at step", "gradlab resume run", code=130)
    assert ended[1].err == ""  # the first tells it for all
    check_sound(run)
    step = int(ended[0].err.partition("saved at step ")[2].partition(".")[0])
    assert (run / "checkpoints" / f"step-{step:08d}").is_dir()
    for other in together(["resume", "run"], ["resume", "run"], cwd=tmp_path):
        assert other.code == 0, other.err
    check_same(run, noisy)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_signal_to_one_process_stops_all_though_no_log_point_is_near(tmp_path: Path, victim: int) -> None:
    arguments = ["train", "moons-mlp", "train.steps=2000000", "train.log_every=1000000", "--out", "run"]
    arguments += ["train.evaluate_every=1000000", "train.checkpoint_every=200"]
    processes = begin(arguments, arguments, cwd=tmp_path)
    checkpoints = tmp_path / "run" / "checkpoints"
    assert wait_until(lambda: checkpoints.is_dir() and any(checkpoints.glob("step-*")), processes[0])
    processes[victim].send_signal(signal.SIGTERM)
    ended = [finish(process) for process in processes]
    assert [one.code for one in ended] == [130, 130], ended[0].err + ended[1].err
    check_sound(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_torchrun_is_a_saved_run(noisy: Path, tmp_path: Path, number: signal.Signals) -> None:
    agent = torchrun(2, *NOISY, cwd=tmp_path)
    assert wait_until(lambda: line_count(tmp_path / "run") >= 25, agent)
    agent.send_signal(number)
    ended = finish(agent)
    assert ended.code != 0
    assert ended.err.count("gradlab: Stopped and saved at step") == 1
    resumed = finish(torchrun(2, "resume", "run", cwd=tmp_path))
    assert resumed.code == 0, resumed.err
    assert resumed.out.count("resuming at step") == 1
    check_same(tmp_path / "run", noisy)


@pytest.mark.slow
def test_a_run_that_is_being_trained_is_left_alone(tmp_path: Path) -> None:
    processes = begin(NOISY, NOISY, cwd=tmp_path)
    assert wait_until(lambda: line_count(tmp_path / "run") >= 2, processes[0])
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(0.1)
        ended = together(["resume", "run"], ["resume", "run"], cwd=tmp_path)
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)
    check_refused(ended[0], "run", "another process")
    assert ended[1].code != 0
    assert "Traceback" not in ended[1].err
    assert [finish(process).code for process in processes] == [0, 0]


# Refused.


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (["digits-mlp"], ["diabetes-linear"], "the same recipe"),
        pytest.param(["digits-mlp"], ["digits-mlp", "train.seed=1"], "the same recipe", marks=pytest.mark.slow),
    ],
)
def test_processes_with_different_recipes_are_refused(
    tmp_path: Path, first: list[str], second: list[str], says: str
) -> None:
    ended = together(["train", *first, "--out", "run"], ["train", *second, "--out", "run"], cwd=tmp_path)
    check_refused(ended[0], says, "rank 1 differs from rank 0")
    assert (ended[1].code, ended[1].err) == (2, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_processes_with_different_data_are_refused(tmp_path: Path) -> None:
    """The same path, and yet another file, as on machines that do not share a disk."""
    folders = [tmp_path / name for name in ("first", "second")]
    commands = []
    for number, folder in enumerate(folders):
        folder.mkdir()
        rows = [f"{i},{i * i % 7},{(i + number) % 2}" for i in range(60)]
        (folder / "table.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    shutil.copy(folders[0] / "table.csv", tmp_path / "table.csv")
    settings = ["data=csv", "data.target=y", "model=mlp", "--out", "run", "--data", str(tmp_path / "table.csv")]
    commands = [["train", "digits-mlp", *settings]] * 2
    port = free_port()
    processes, loaded = [], tmp_path / "cache0"
    for rank in range(2):
        told = environment(**member(rank, 2, port), GRADLAB_CACHE=str(tmp_path / f"cache{rank}"))
        processes.append(start(*commands[rank], cwd=folders[rank], env=told))
        if rank == 0:
            assert wait_until(lambda: loaded.is_dir() and any(loaded.iterdir()), processes[0])
            time.sleep(1)  # it waits for the other, and has read its file
            shutil.copy(folders[1] / "table.csv", tmp_path / "table.csv")
    ended = [finish(process) for process in processes]
    check_refused(ended[0], "the same data", "rank 1 differs from rank 0")
    assert (ended[1].code, ended[1].err) == (2, "")


@pytest.mark.slow
def test_a_folder_that_exists_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    ended = together(NOISY, NOISY, cwd=tmp_path)
    check_refused(ended[0], "run exists already")
    assert (ended[1].code, ended[1].err) == (2, "")


@pytest.mark.parametrize(
    "command", [["evaluate", "run"], ["predict", "run", "x.csv"], ["runs"], ["sweep", "digits-mlp"]]
)
def test_other_commands_are_for_one_process(quick: ForkServer, tmp_path: Path, command: list[str]) -> None:
    for rank in range(2):
        ended = quick(*command, cwd=tmp_path, env=member(rank, 2, 1))
        assert (ended.code, ended.out) == (2, "")
        who = f"gradlab (rank {rank})" if rank else "gradlab"
        assert ended.err.startswith(f"{who}: `gradlab {command[0]}` runs in one process: leave out torchrun.")


@pytest.mark.parametrize("study", [["--seeds", "2"], ["--folds", "3"], ["--find-lr"], ["--check"]])
def test_studies_are_for_one_process(quick: ForkServer, tmp_path: Path, study: list[str]) -> None:
    ended = quick("train", "digits-mlp", *study, cwd=tmp_path, env=member(0, 2, 1))
    check_refused(ended, study[0], "one process", "leave out torchrun")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["digits-softmax", "train.optimizer=lbfgs", "train.batch_size=full"], "lbfgs searches in one process"),
        (["pydoc-lstm", "data.context=32", "model.dim=8"], "train.carry=true does not go with several processes"),
        (["digits-mlp", "train.batch_size=1"], "A batch of 1 example cannot be shared by 2 processes"),
    ],
)
def test_what_needs_one_process_is_refused_before_there_is_a_folder(
    tmp_path: Path, arguments: list[str], says: str
) -> None:
    command = ["train", *arguments, "--out", "run"]
    for rank, ended in enumerate(together(command, command, cwd=tmp_path)):
        assert ended.code == 2, ended.err
        assert says in ended.err
        assert ended.err.startswith("gradlab (rank 1): " if rank else "gradlab: ")
    assert not (tmp_path / "run").exists()


# Batch normalisation, texts, and what else a recipe may hold.


@pytest.mark.slow
@pytest.mark.parametrize("over_all", [True, False])
def test_the_plan_says_how_batch_normalisation_is_done(quick: ForkServer, tmp_path: Path, over_all: bool) -> None:
    settings = ["model.batch_norm=true", "train.epochs=2", "train.log_every=5", "--out", "run"]
    command = ["train", "digits-mlp", *settings, f"train.sync_batch_norm={str(over_all).lower()}"]
    ended = together(command, command, cwd=tmp_path)
    assert [one.code for one in ended] == [0, 0], ended[0].err + ended[1].err
    says = "over all" if over_all else "by itself in each (see train.sync_batch_norm)"
    assert f"batch normalisation {says}" in ended[0].out
    (tmp_path / "alone").mkdir()
    assert quick("train", "digits-mlp", *settings, cwd=tmp_path / "alone").code == 0
    if over_all:
        close(tmp_path / "run", tmp_path / "alone" / "run")
    else:
        with pytest.raises(AssertionError):
            close(tmp_path / "run", tmp_path / "alone" / "run")


TEXTS = {
    "gpt": ["train", "pydoc-gpt", "data.context=32", "model.dim=16", "model.layers=1", "model.heads=2"],
    "bag": ["train", "docstrings-bag"],
}


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_texts_are_learned_together(quick: ForkServer, tmp_path: Path, name: str, processes: int) -> None:
    command = [*TEXTS[name], "train.steps=30", "train.schedule.warmup=5"] if name == "gpt" else TEXTS[name]
    command = [*command, "train.steps=30", "train.log_every=3", "train.evaluate_every=15", "--out", "run"]
    ended = together(*[command] * processes, cwd=tmp_path)
    assert [one.code for one in ended] == [0] * processes, "".join(one.err for one in ended)
    (tmp_path / "alone").mkdir()
    assert quick(*command, cwd=tmp_path / "alone").code == 0
    run, alone = tmp_path / "run", tmp_path / "alone" / "run"
    close(run, alone)
    for ours, theirs in zip(lines(run), lines(alone), strict=True):
        for figure in ("bits_per_byte", "accuracy"):
            if figure in theirs:
                assert ours[figure] == pytest.approx(theirs[figure], rel=1e-4)


@pytest.mark.slow
def test_a_training_that_diverges_is_told_once_and_the_last_checkpoint_kept(tmp_path: Path) -> None:
    command = ["train", "diabetes-linear", "train.optimizer=sgd", "train.lr=1e30", "train.epochs=50", "--out", "run"]
    ended = together(command, command, cwd=tmp_path)
    check_refused(ended[0], "Training diverged", code=1)
    assert (ended[1].code, ended[1].err) == (1, "")


@pytest.mark.slow
def test_a_full_disk_of_the_first_process_ends_all(tmp_path: Path) -> None:
    command = [*NOISY[:-2], "--out", str(tmp_path / "run")]
    processes = begin(command, command, cwd=tmp_path)
    run = tmp_path / "run"
    assert wait_until(lambda: line_count(run) >= 10, processes[0])
    shutil.rmtree(run / "checkpoints", ignore_errors=True)
    (run / "checkpoints").write_text("no folder any more")
    ended = [finish(process) for process in processes]
    assert [one.code for one in ended] == [1, 1]
    assert "could not be written" in ended[0].err
    assert "Another of the 2 processes" in ended[1].err
