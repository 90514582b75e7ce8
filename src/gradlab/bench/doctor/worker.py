"""Scripts under the doctor, and without it: JSON lines in and out, as in `bench/worker.py`.

Every script has a process of its own, forked from this one, which has imported what they all need: that is most of a
short script's time. Nothing here draws a random number or starts a thread, so that a script finds torch as it would
find it in a fresh process.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_HEAVY = (
    "numpy",
    "sklearn.datasets",
    "sklearn.model_selection",
    "sklearn.preprocessing",
    "torch",
    "torch._dynamo",  # any optimiser imports it
    "torch.utils.data",
)
_POLL = 0.02  # seconds


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    _load()
    for line in sys.stdin:
        answers.write(json.dumps(answer(**json.loads(line))) + "\n")


def answer(script: str, options: Sequence[str], seconds: float, doctor: bool) -> dict[str, Any]:
    """How a script ended, what it printed, and what the doctor wrote about it; all files are put beside the script.

    The doctor is called as its command is, and asked for the script's own exit code.
    """
    path = Path(script)
    files = {name: path.with_suffix(f".{'doctor' if doctor else 'plain'}.{name}") for name in ("out", "err", "json")}
    arguments = [script, *options]
    if doctor:
        arguments = ["gradlab", "doctor", "--exit-code", "script", "--json", str(files["json"]), *arguments]
    for file in files.values():
        file.unlink(missing_ok=True)
    files["err"].touch()
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        _run(arguments, files["out"], files["err"])
    code = _wait(child, began + seconds)
    taken = time.perf_counter() - began
    written = files["json"].read_text() if files["json"].exists() else "null"
    said = [line.strip() for line in files["err"].read_text(errors="replace").splitlines() if line.strip()]
    return {"code": code, "seconds": taken, "report": json.loads(written), "out": str(files["out"]), "said": said[-1:]}


def _load() -> None:
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # BLAS's are asleep
    for name in _HEAVY:
        importlib.import_module(name)
    import torch

    from gradlab import diagnosis

    torch.set_num_threads(1)
    for module in pkgutil.walk_packages(diagnosis.__path__, f"{diagnosis.__name__}."):
        importlib.import_module(module.name)
    importlib.import_module("gradlab.cli")
    gc.collect()
    gc.freeze()  # a child that leaves would else look through all of it, and copy what it looks at


def _run(arguments: Sequence[str], out: Path, err: Path) -> None:
    """In the child. It leaves as any program does, through SystemExit: what is to happen at exit happens."""
    os.setsid()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for descriptor, file in enumerate([os.open(os.devnull, os.O_RDONLY), os.open(out, flags), os.open(err, flags)]):
        os.dup2(file, descriptor)
    sys.argv = list(arguments)
    if arguments[0] == "gradlab":
        runpy.run_module("gradlab", run_name="__main__", alter_sys=True)
    else:
        _run_plainly(arguments[0])
    sys.exit(0)


def _run_plainly(script: str) -> None:
    """As `python SCRIPT` does: runpy would name the package and the module otherwise."""
    sys.path[0] = str(Path(script).parent)
    main = sys.modules["__main__"] = ModuleType("__main__")
    vars(main).update(__file__=script, __loader__=SourceFileLoader("__main__", script), __package__=None)
    exec(compile(Path(script).read_bytes(), script, "exec"), vars(main))


def _wait(child: int, until: float) -> int | None:
    """Its exit code, or None where it did not end in time. It is ended then, with all that it has started."""
    try:
        while time.perf_counter() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(_POLL)
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
