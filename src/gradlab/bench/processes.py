"""The processes of contestants: started alike, talked to in JSON lines, ended for certain."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from gradlab.errors import GradlabError

_PATIENCE = 10.0  # seconds that a worker has to end by itself


def environment(**more: str) -> dict[str, str]:
    """What the user has: how threads wait is for each contestant to decide."""
    return {**os.environ, "KERAS_BACKEND": "torch", **more}


def call(arguments: Sequence[str], **variables: str) -> str:
    """Run Python to its end, and give what it printed."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment(**variables))
    if done.returncode:
        raise GradlabError(f"`python {' '.join(arguments)}` failed: {done.stderr.strip()[-500:]}")
    return done.stdout


class WorkerFailed(Exception):
    """A worker ended instead of answering; the message is the last line it wrote."""


class Worker:
    """A Python module in a process of its own that answers each JSON line with one."""

    def __init__(self, module: str, **variables: str):
        self.errors = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115  (closed on exit)
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment(**variables),
        )

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerFailed(self._last_words()) from None
        line = self.process.stdout.readline()
        if not line:
            raise WorkerFailed(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        code = self.process.wait()
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if line.strip()]
        return lines[-1] if lines else f"ended with code {code}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # No more questions: a worker that is not in the middle of one leaves, and clears away its files.
            self.process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self.errors.close()
