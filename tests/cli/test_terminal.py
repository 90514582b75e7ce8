"""What a terminal shows: a live bar while training."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import TIMEOUT, environment


def in_terminal(*arguments: str, cwd: Path) -> tuple[int, str]:
    """Run a command in a pseudo-terminal; its exit code and all that it wrote."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gradlab", *arguments]
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    env = environment(TERM="xterm-256color", COLUMNS="120", LINES="40")
    with subprocess.Popen(command, cwd=cwd, env=env, start_new_session=True, **streams) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # EIO: so Linux says that the other side is closed
                break
            if not piece:
                break
            written += piece
        os.close(ours)
        return process.wait(TIMEOUT), written.decode()


def test_a_terminal_shows_a_live_bar(tmp_path: Path) -> None:
    code, written = in_terminal("train", "moons-mlp", "train.steps=400", "--out", "run", cwd=tmp_path)
    assert code == 0
    assert "\x1b[" in written
    assert "━" in written
    assert "400/400 steps" in written
    assert "examples/s" in written
    assert "Traceback" not in written


def test_plain_in_a_terminal_has_no_control_codes(tmp_path: Path) -> None:
    code, written = in_terminal("train", "moons-mlp", "train.steps=50", "--out", "run", "--plain", cwd=tmp_path)
    assert code == 0
    assert "\x1b" not in written
    assert "\r" not in written.replace("\r\n", "\n")  # the terminal itself ends lines so
    assert "step 50/50" in written


@pytest.mark.slow
def test_json_in_a_terminal_is_json_alone(tmp_path: Path) -> None:
    import json

    code, written = in_terminal("train", "moons-mlp", "train.steps=5", "--out", "run", "--json", cwd=tmp_path)
    assert code == 0
    assert json.loads(written)["steps"] == 5
