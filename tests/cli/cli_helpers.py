"""How the tests run the command line, as processes of their own, and how they read what those leave on disk."""

import fcntl
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gradlab.errors import FAULT

TIMEOUT = 180  # seconds that no command of these tests comes near, unless it hangs


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def __post_init__(self) -> None:
        """A fault of gradlab itself is told to users in one line, and to us by its traceback."""
        if self.code == FAULT:
            log = re.search(r"traceback is in (\S+\.log)", self.err)
            raise AssertionError(self.err + (Path(log[1]).read_text() if log else ""))

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


def environment(**extra: str) -> dict[str, str]:
    """The tests' own environment, without what changes how programs print."""
    printing = {"NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES", "PYTHONWARNINGS"}
    return {k: v for k, v in os.environ.items() if k not in printing} | extra


def start(*arguments: object, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """`gradlab ARGUMENTS`, running."""
    command = [sys.executable, "-m", "gradlab", *map(str, arguments)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=cwd, **({"env": environment()} | pipes | options))


def finish(process: subprocess.Popen[str]) -> Finished:
    """Wait for a started command."""
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    return Finished(process.returncode, out, err)


def gradlab(*arguments: object, cwd: Path, **options: Any) -> Finished:
    """`gradlab ARGUMENTS` from its start to its end."""
    return finish(start(*arguments, cwd=cwd, **options))


class ForkServer:
    """Runs commands in forked children of one process that has torch loaded already.

    The same `main`, a process for each command, its own streams and exit code; only the second that loading torch
    takes is spared, which makes long tables of inputs affordable.
    """

    def __init__(self, folder: Path):
        script = Path(__file__).with_name("forkserver.py")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, str(script)], env=environment(), cwd=folder, **pipes)
        self.streams = folder / "out", folder / "err"

    def __call__(self, *arguments: object, cwd: Path, env: Mapping[str, str] = {}) -> Finished:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        job = {
            "arguments": [str(a) for a in arguments],
            "cwd": str(cwd),
            "streams": [str(s) for s in self.streams],
            "environment": dict(env),
        }
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        out, err = (stream.read_text() for stream in self.streams)
        return Finished(code, out, err)

    def close(self) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()


@contextmanager
def shared_folder(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A folder that all workers of a parallel test run see, for one of them at a time."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield folder


def check_refused(ended: Finished, *words: str, code: int = 2) -> None:
    """The command failed with this code, and says why in a line or three that hold these words."""
    assert "Traceback" not in ended.err, ended.err
    assert ended.code == code, f"exit code {ended.code}, expected {code}: {ended.out[-500:]}{ended.err}"
    assert "gradlab: " in ended.err
    assert len(ended.err.splitlines()) <= 3, ended.err
    for word in words:
        assert word in ended.err, ended.err


def contents(folder: Path) -> dict[str, str]:
    """Every file and folder below a folder, with the digest of each file: equal before and after if nothing changed."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def lines(run: Path) -> list[dict[str, Any]]:
    """The metrics log."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def losses(run: Path) -> list[tuple[int, str, float]]:
    """What must be equal to the bit in every line of the metrics log."""
    return [(line["step"], line["split"], line["loss"]) for line in lines(run)]


def told(run: Path) -> list[dict[str, Any]]:
    """The same whole, but for the time that it took."""
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines(run)]


def checkpoints(run: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted((run / "checkpoints").glob("step-*"))


def weights(run: Path) -> dict[str, bytes]:
    """The tensors of the last checkpoint, byte for byte."""
    return {path.name: path.read_bytes() for path in sorted(checkpoints(run)[-1].glob("*.safetensors"))}


def check_same(run: Path, reference: Path) -> None:
    """A run ended exactly like another: the same lines in the log, same figures, same bytes of weights."""
    assert told(run) == told(reference)
    ours, theirs = weights(run), weights(reference)
    assert set(ours) == set(theirs)
    for name, content in ours.items():
        assert content == theirs[name], f"{name} differs"
    results = [json.loads((folder / "result.json").read_text()) for folder in (run, reference)]
    for key in ("steps", "ended", "weights", "validation", "test"):
        assert results[0][key] == results[1][key]


def check_sound(run: Path) -> None:
    """Every checkpoint of a run agrees with its own sums, as `sha256sum -c` sees it."""
    for folder in checkpoints(run):
        subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=True)


def flip_byte(path: Path, position: int | None = None) -> None:
    """One bit of one byte changes; by default in the middle of the file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if position is None else position] ^= 1
    path.write_bytes(content)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str], patience: float = 60.0) -> bool:
    """Poll closely until the condition holds (True) or the process has ended (False)."""
    deadline = time.monotonic() + patience
    time.sleep(0.5)  # no command has loaded torch so soon
    while not condition():
        if process.poll() is not None:
            return False
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.001)
    return True


def line_count(run: Path) -> int:
    try:
        return (run / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def signal_after(number: int, run: Path, count: int, *arguments: object, cwd: Path) -> Finished:
    """Start a command and send it a signal as soon as the metrics log of its run has `count` lines."""
    process = start(*arguments, cwd=cwd)
    if wait_until(lambda: line_count(run) >= count, process):
        process.send_signal(number)
    return finish(process)


def kill_after(run: Path, count: int, *arguments: object, cwd: Path) -> Finished:
    return signal_after(signal.SIGKILL, run, count, *arguments, cwd=cwd)


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """`quick(*arguments, cwd=…)`: a command without the wait for torch."""
    server = ForkServer(tmp_path_factory.mktemp("forkserver"))
    yield server
    server.close()
