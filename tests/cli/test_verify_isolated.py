"""`gradlab verify FILE.py:Class` runs the file in a process of its own, whose end alone verifies nothing."""

import os
import signal
import time
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, finish, start, wait_until

MODULE = """
import os, signal, sys, time
import torch

{on_import}

class Mine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {on_build}

    def forward(self, x):
        {on_call}
        return x.clamp_min(0)
"""
PLACES = ["on_import", "on_build", "on_call"]
ENDINGS = {
    "exit": "sys.exit(0)",
    "exit at once": "os._exit(0)",
    "system exit": "raise SystemExit",
    "abort": "os.abort()",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "closed pipes": "os.closerange(3, 1000); os._exit(0)",
}
LOOPS = {
    "busy": "exec('while True: pass')",
    "asleep": "time.sleep(1000)",
    "stubborn": "exec('while True:\\n try: time.sleep(1000)\\n except BaseException: pass')",
}


def verify(folder: Path, **lines: str) -> list[str]:
    """The command for a module with these lines in it."""
    (folder / "mine.py").write_text(MODULE.format(**dict.fromkeys(PLACES, "pass") | lines))
    return ["verify", "mine.py:Mine", "--like", "activation.relu", "--cases", "3"]


@pytest.mark.parametrize(
    ("place", "ending"), [("on_import", "exit"), ("on_build", "exit at once"), *(("on_call", end) for end in ENDINGS)]
)
def test_a_file_that_ends_its_process_is_not_verified(
    quick: ForkServer, tmp_path: Path, place: str, ending: str
) -> None:
    command = verify(tmp_path, **{place: ENDINGS[ending]})
    ended = quick(*command, cwd=tmp_path)
    check_refused(ended, "mine.py:Mine ended its process", "before there was a result")
    assert "agrees" not in ended.out


def test_a_file_that_ends_its_process_is_an_error_as_json(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick(*verify(tmp_path, on_call=ENDINGS["exit at once"]), "--json", cwd=tmp_path)
    assert ended.code == 2
    assert "ended its process (exit code 0)" in ended.json["error"]


@pytest.mark.parametrize(("place", "loop"), [("on_import", "asleep"), *(("on_call", loop) for loop in LOOPS)])
def test_a_file_that_does_not_end_is_stopped(quick: ForkServer, tmp_path: Path, place: str, loop: str) -> None:
    lines = {place: f"open('child', 'w').write(str(os.getpid())); {LOOPS[loop]}"}
    ended = quick(*verify(tmp_path, **lines), "--time-limit", "1", cwd=tmp_path)
    check_refused(ended, "mine.py:Mine did not end within 1", "--time-limit SECONDS")
    if (tmp_path / "child").exists():  # where a busy machine came to it within that time
        assert not is_alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_time_limit_that_is_none_is_refused(quick: ForkServer, tmp_path: Path, limit: str) -> None:
    check_refused(quick(*verify(tmp_path), f"--time-limit={limit}", cwd=tmp_path), "--time-limit", "above 0")


def test_a_right_module_agrees_and_what_it_prints_shows(quick: ForkServer, tmp_path: Path) -> None:
    lines = {place: f"print('printed {place}')" for place in PLACES}
    ended = quick(*verify(tmp_path, **lines), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert all(f"printed {place}" in ended.out for place in PLACES)
    assert "agrees with twin" in ended.out


def test_what_a_file_prints_is_no_verdict(quick: ForkServer, tmp_path: Path) -> None:
    fakes = 'print(\'["result", "agrees"]\', flush=True); os._exit(0)'
    check_refused(quick(*verify(tmp_path, on_import=fakes), cwd=tmp_path), "before there was a result")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_child_too(tmp_path: Path, number: int) -> None:
    lines = {"on_import": f"open('child', 'w').write(str(os.getpid())); {LOOPS['stubborn']}"}
    process = start(*verify(tmp_path, **lines), cwd=tmp_path)
    child = tmp_path / "child"
    assert wait_until(lambda: child.exists() and child.read_text() != "", process)
    process.send_signal(number)
    ended = finish(process)
    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert not is_alive(int(child.read_text()))


def is_alive(pid: int) -> bool:
    """Whether a process runs after a moment; one that has ended may wait for its parent."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.05)
    return True
