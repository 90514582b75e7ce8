"""Ctrl-C and SIGTERM: saved, told how to go on, and the same bits in the end. And two processes on one run."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import (
    ForkServer,
    check_refused,
    check_same,
    check_sound,
    checkpoints,
    contents,
    finish,
    gradlab,
    line_count,
    losses,
    signal_after,
    start,
    start_fresh,
    wait_until,
)

from gradlab.cli import main

Exact = Callable[[str], Path]
Commands = dict[str, list[str]]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (signal.SIGINT, "momentum"),
        (signal.SIGHUP, "lbfgs"),
        pytest.param(signal.SIGINT, "dropout", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "momentum", marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_is_saved_and_resumes_to_the_same_bits(
    exact: Exact, commands: Commands, tmp_path: Path, number: signal.Signals, name: str
) -> None:
    run = tmp_path / "run"
    lines = len(losses(exact(name))) // 2
    ended = signal_after(number, run, lines, *commands[name], "--out", "run", cwd=tmp_path)
    check_refused(ended, "gradlab resume run", "saved at step", code=130)
    check_sound(run)
    assert not (run / "result.json").exists()
    resumed = gradlab("resume", "run", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    step = ended.err.partition("saved at step ")[2].partition(".")[0]
    assert f"resuming at step {step} " in resumed.out
    check_same(run, exact(name))


@pytest.mark.slow
def test_a_resumed_run_may_be_interrupted_again(exact: Exact, commands: Commands, tmp_path: Path) -> None:
    run, total = tmp_path / "run", len(losses(exact("momentum")))
    command = [*commands["momentum"], "--out", "run"]
    for lines in (total // 4, total // 2, total * 3 // 4):
        ended = signal_after(signal.SIGINT, run, lines, *command, "--json", cwd=tmp_path)
        check_refused(ended, "gradlab resume run", code=130)
        assert "gradlab resume run" in ended.json["error"]
        command = ["resume", "run"]
    assert gradlab("resume", "run", "--json", cwd=tmp_path).code == 0
    check_same(run, exact("momentum"))


# A step takes long, so that a second signal surely comes in the middle of one.
LONG_STEPS = [
    "train", "digits-mlp", "model.activation=tanh", "train.optimizer=lbfgs", "train.batch_size=full", "train.lr=1",
    "train.epochs=4", "train.optimizer.iterations=60", "train.optimizer.history=40", "train.log_every=1",
    "train.checkpoint_every=3", "--json", "--out",
]  # fmt: skip


def test_a_second_ctrl_c_in_the_middle_of_a_step_spoils_nothing(quick: ForkServer, tmp_path: Path) -> None:
    process = start(*LONG_STEPS, "run", cwd=tmp_path)
    run = tmp_path / "run"
    assert wait_until(lambda: line_count(run) >= 5, process)  # two evaluations of two lines each, and a step
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    ended = finish(process)
    assert "Traceback" not in ended.err
    assert ended.code == 130
    check_sound(run)
    resumed = quick("resume", "run", "--json", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert quick(*LONG_STEPS, "other", cwd=tmp_path).code == 0
    check_same(run, tmp_path / "other")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs to see what a process has loaded")
@pytest.mark.parametrize(
    ("library", "number"),
    [
        ("sklearn/utils", signal.SIGTERM),
        pytest.param("libtorch_cpu", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("libtorch_cpu", signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_while_torch_or_the_data_are_loaded_leaves_no_traceback(
    tmp_path: Path, library: str, number: signal.Signals
) -> None:
    process = start_fresh("train", "moons-mlp", "train.epochs=500", "--out", "run", cwd=tmp_path)
    maps = Path(f"/proc/{process.pid}/maps")
    assert wait_until(lambda: library in maps.read_text(), process)
    process.send_signal(number)
    ended = finish(process)
    assert "Traceback" not in ended.err
    assert ended.code in (130, -signal.SIGINT)  # a shell says 130 to both


def test_a_terminal_that_is_lost_leaves_the_run_saved(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    process = start_fresh(*LONG_STEPS[:-2], "--out", "run", cwd=tmp_path, **streams)
    os.close(theirs)
    run = tmp_path / "run"
    assert wait_until(lambda: line_count(run) >= 5, process)
    os.close(ours)  # whoever has written to it gets an error from now on
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 130
    check_sound(run)
    assert checkpoints(run)
    assert not (run / "result.json").exists()


@pytest.mark.slow
def test_a_hangup_is_ignored_under_nohup(quick: ForkServer, tmp_path: Path) -> None:
    process = start_fresh(
        *LONG_STEPS, "run", cwd=tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    assert wait_until(lambda: line_count(tmp_path / "run") >= 5, process)
    process.send_signal(signal.SIGHUP)
    assert finish(process).code == 0


def test_a_second_process_on_one_run_is_refused_and_the_first_goes_on(
    exact: Exact, commands: Commands, quick: ForkServer, tmp_path: Path
) -> None:
    process = start(*commands["momentum"], "--out", "run", cwd=tmp_path)
    run = tmp_path / "run"
    assert wait_until(lambda: line_count(run) >= 2, process)
    process.send_signal(signal.SIGSTOP)  # so that it is surely still there
    try:
        before = contents(run)
        check_refused(quick("resume", "run", cwd=tmp_path), "run", "another process")
        check_refused(quick(*commands["momentum"], "--out", "run", cwd=tmp_path), "run", "exists")
        assert contents(run) == before
    finally:
        process.send_signal(signal.SIGCONT)
    ended = finish(process)
    assert ended.code == 0, ended.err
    check_same(run, exact("momentum"))


def test_a_reader_that_leaves_does_not_cause_a_traceback(tmp_path: Path) -> None:
    process = start_fresh("recipes", "digits-mlp", "--json", cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as stream:
        assert "Traceback" not in stream.read()
    process.wait()


@pytest.mark.slow
def test_an_interrupted_run_is_listed_as_not_finished(quick: ForkServer, commands: Commands, tmp_path: Path) -> None:
    ended = signal_after(signal.SIGINT, tmp_path / "run", 9, *commands["lbfgs"], "--out", "run", cwd=tmp_path)
    assert ended.code == 130
    listed = quick("runs", ".", "--json", cwd=tmp_path).json["runs"]
    assert "gradlab resume run" in listed[0]["state"]
    check_refused(quick("evaluate", "missing", cwd=tmp_path), "missing")
    assert quick("evaluate", "run", "--json", cwd=tmp_path).code == 0  # what has been learned so far


# Signals outside of the training loop.

STOPPED = {
    "gradlab.training.saved._restore": "No checkpoint had been saved.",
    "gradlab.training.saved._figures": "The checkpoint of step 8 is kept.",
    "gradlab.run.folder.Run.conclude": "The checkpoint of step 8 is kept.",
    "gradlab.report.write_report": "The training is finished and its result is saved.",
}
QUICK_RUN = ["train", "digits-softmax", "train.steps=8", "--out"]


@pytest.mark.parametrize("place", STOPPED)
@pytest.mark.parametrize("json", [[], ["--json"]], ids=["", "json"])
def test_interrupt_outside_the_loop_says_what_is_saved_and_how_to_go_on(
    quick: ForkServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    place: str,
    json: list[str],
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(place, interrupt)
        with pytest.raises(SystemExit) as ended:
            main([*QUICK_RUN, "run", *json])
    message = f"Interrupted. {STOPPED[place]} Go on with: gradlab resume run"
    captured = capsys.readouterr()
    assert (ended.value.code, captured.err) == (130, f"gradlab: {message}\n")
    assert (message in captured.out) == bool(json)
    check_sound(tmp_path / "run")
    assert quick("resume", "run", "--json", cwd=tmp_path).code == 0
    assert quick(*QUICK_RUN, "other", cwd=tmp_path).code == 0
    check_same(tmp_path / "run", tmp_path / "other")
    assert (tmp_path / "run" / "report.html").exists()


SLOW_SOURCE = """
import time
from pathlib import Path

import gradlab as gl


@gl.register.dataset("slow")
def slow(seed):
    Path("reading").touch()
    time.sleep(60)


@gl.register.recipe
def mine():
    return gl.Recipe("mine", "slow", "mlp", "classify", {"steps": 2})
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["train", "mine.py"], "no run folder was made"),
        (["train", "mine.py", "--find-lr"], "did not finish"),
    ],
)
def test_signal_while_data_are_read_is_reported(
    tmp_path: Path, number: signal.Signals, command: list[str], word: str
) -> None:
    (tmp_path / "mine.py").write_text(SLOW_SOURCE)
    process = start(*command, cwd=tmp_path)
    assert wait_until((tmp_path / "reading").exists, process)
    process.send_signal(number)
    check_refused(finish(process), "Interrupted", word, code=130)
    assert not (tmp_path / "runs").exists()
