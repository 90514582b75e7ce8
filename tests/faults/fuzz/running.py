"""Runs an attempt in this process, in a folder of its own, and leaves the process as it was."""

import io
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch
from attempt import Attempt

from gradlab.cli import main
from gradlab.errors import GradlabError

MEMORY = 8 * 2**30


@contextmanager
def isolated(folder: Path, cache: Path) -> Iterator[None]:
    """Work in a folder, with a cache and temporary files of its own and no more memory than it may need."""
    before = Path.cwd(), os.environ.get("GRADLAB_CACHE"), tempfile.tempdir
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    os.chdir(folder)
    os.environ["GRADLAB_CACHE"] = str(cache)
    tempfile.tempdir = str(folder)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limits[1]))
    try:
        with _restored_interpreter():
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        os.chdir(before[0])
        os.environ.pop("GRADLAB_CACHE") if before[1] is None else os.environ.update(GRADLAB_CACHE=before[1])
        tempfile.tempdir = before[2]


@contextmanager
def _restored_interpreter() -> Iterator[None]:
    """A script under the doctor owns its process, and may change any of these for good."""
    arguments, path, modules, limit = sys.argv[:], sys.path[:], dict(sys.modules), sys.getrecursionlimit()
    dtype, gradients, state = torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_rng_state()
    trace = sys.gettrace()
    try:
        with warnings.catch_warnings():
            yield
    finally:
        sys.settrace(trace)
        sys.setrecursionlimit(limit)
        sys.argv[:], sys.path[:] = arguments, path
        sys.modules.update(modules)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)
        torch.set_rng_state(state)
        torch.use_deterministic_algorithms(False)


def run_attempt(attempt: Attempt) -> tuple[int, str, str]:
    """Exit code, standard output and standard error; an exception that is not gradlab's own is raised."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape") for _ in range(2))
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            if attempt.call is not None:
                attempt.call()
            else:
                main(list(attempt.arguments))
        except SystemExit as ended:
            code = ended.code or 0
        except GradlabError as error:
            print(error, file=sys.stderr)
            code = error.exit_code
    return code, _content(out), _content(err)


def _content(stream: io.TextIOWrapper) -> str:
    if stream.closed:  # by a script
        return ""
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", errors="surrogateescape")  # type: ignore[attr-defined]
