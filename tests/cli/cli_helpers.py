"""How the tests run the command line, as processes of their own, and how they read what those leave on disk."""

import atexit
import fcntl
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gradlab.errors import FAULT
from gradlab.files import FolderSums

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


class ForkServer:
    """Runs commands in forked children of one process that has torch loaded already.

    The same `main`, a process for each command, its own streams and exit code; only the seconds that loading torch and
    scikit-learn take are spared, which makes long tables of inputs, and many kills, affordable.
    """

    def __init__(self) -> None:
        script = Path(__file__).with_name("forkserver.py")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.folder = tempfile.TemporaryDirectory(prefix="forkserver-")
        self.process = subprocess.Popen([sys.executable, str(script)], env=environment(), cwd=self.folder.name, **pipes)
        self.jobs = 0

    def ask(self, request: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(
        self,
        arguments: Sequence[object],
        cwd: Path,
        env: Mapping[str, str],
        file_size: int | None = None,
        stdout: str | None = None,
    ) -> "Forked":
        self.jobs += 1
        streams = [Path(self.folder.name, f"{self.jobs}.{stream}") for stream in ("out", "err")]
        job = {
            "arguments": [str(a) for a in arguments],
            "cwd": str(cwd),
            "streams": [str(s) for s in streams],
            "environment": dict(env),
            "file_size": file_size,
            "stdout": stdout,
        }
        return Forked(self, self.ask(job), streams)

    def __call__(self, *arguments: object, cwd: Path, env: Mapping[str, str] = {}) -> Finished:
        return finish(self.start(arguments, cwd, environment(**env)))

    def close(self) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.folder.cleanup()


class Forked:
    """A command in a forked child, with as much of a Popen as the tests use."""

    def __init__(self, server: ForkServer, pid: int, streams: list[Path]):
        self.server, self.pid, self.streams = server, pid, streams
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self.server.ask(self.pid)
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("gradlab", timeout)
            time.sleep(0.005)
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        self.wait(timeout)
        out, err = (stream.read_text() for stream in self.streams)
        for stream in self.streams:
            stream.unlink()
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = subprocess.Popen[str] | Forked


@cache
def fork_server() -> ForkServer:
    """The one of this process."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def start(*arguments: object, cwd: Path, env: Mapping[str, str] | None = None, **options: Any) -> Forked:
    """`gradlab ARGUMENTS`, running. With `file_size`, none of its files grows beyond that number of bytes; with
    `stdout`, its output is written to that file.
    """
    return fork_server().start(arguments, cwd, environment() if env is None else env, **options)


def start_fresh(*arguments: object, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """The same in a process that loads Python and torch itself."""
    command = [sys.executable, "-m", "gradlab", *map(str, arguments)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=cwd, **({"env": environment()} | pipes | options))


def finish(process: Process) -> Finished:
    """Wait for a started command."""
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode is not None
    return Finished(process.returncode, out, err)


def gradlab(*arguments: object, cwd: Path, env: Mapping[str, str] | None = None) -> Finished:
    """`gradlab ARGUMENTS` from its start to its end."""
    return finish(start(*arguments, cwd=cwd, env=env))


def fresh(*arguments: object, cwd: Path, **options: Any) -> Finished:
    """The same in a process that loads Python and torch itself."""
    return finish(start_fresh(*arguments, cwd=cwd, **options))


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


def differing(content: bytes, other: bytes) -> list[str]:
    """Which tensors of two files are not the same, so that a failure that is seen once can be understood."""
    from safetensors.torch import load

    ours, theirs = load(content), load(other)
    return sorted(n for n in {*ours, *theirs} if n not in ours or n not in theirs or not ours[n].equal(theirs[n]))


def check_same(run: Path, reference: Path) -> None:
    """A run ended exactly like another: the same lines in the log, same figures, same bytes of weights and samples."""
    assert told(run) == told(reference)
    assert contents(run / "samples") == contents(reference / "samples")
    ours, theirs = weights(run), weights(reference)
    assert set(ours) == set(theirs)
    for name, content in ours.items():
        assert content == theirs[name], f"{name} differs in {differing(content, theirs[name])}"
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


def wait_until(condition: Callable[[], bool], process: Process, patience: float = 60.0) -> bool:
    """Poll closely until the condition holds (True) or the process has ended (False)."""
    deadline = time.monotonic() + patience
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
def quick() -> ForkServer:
    """`quick(*arguments, cwd=…, env={…})`: a command with some variables beside those of the tests."""
    return fork_server()


def accept_changes(run: Path) -> None:
    """Write the sums of a run anew, so that what a test changed in its files is taken for what gradlab wrote."""
    sums = FolderSums(run)
    sums.add(name for name in sums.read() if (run / name).exists())
