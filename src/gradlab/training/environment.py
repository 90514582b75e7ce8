"""Where a run happens: device, threads, versions."""

import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy
import torch

from gradlab import parallel
from gradlab.errors import GradlabError
from gradlab.printable import printable, without_passwords
from gradlab.registry import shortly
from gradlab.training.plan import Plan
from gradlab.version import __version__

# A thread must have this many floating-point operations of each product to itself before it is worth its place, since
# threads wait for each other after each. Measured with two threads on two cores: an LSTM with products of 1 to 9 MFLOP
# is 1.3 to 1.6 times as fast, one of 30 MFLOP 1.7 times; an MLP of 28 MFLOP 1.4 times. But where other work
# has the second core, every product waits some 2 ms for it: products of 1 MFLOP then take forty times as long, of 7
# MFLOP twenty times, of 300 MFLOP twice. So the small ones, of a fifth of a millisecond, stay alone.
_FLOPS_PER_THREAD = 10e6


def find_device(name: str = "auto") -> torch.device:
    """The device asked for; auto is the first of CUDA, MPS and CPU that is there."""
    present: dict[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
        "cpu": lambda: True,
    }
    if isinstance(name, str) and name == "auto":
        name = next(kind for kind, there in present.items() if there())
    if not isinstance(name, str) or name not in present:
        raise GradlabError(f"There is no device {shortly(name)}. Valid: auto, cpu, cuda, mps.")
    if not present[name]():
        raise GradlabError(
            f"--device {name} was asked for, but this machine has none that torch can use. Use --device cpu."
        )
    return torch.device(name)


def choose_threads(plan: Plan, product_flops: float) -> int:
    """CPU threads for products of this size: by rule, so that a repeated run does the same arithmetic."""
    return plan.threads or max(1, min(torch.get_num_threads(), int(product_flops / _FLOPS_PER_THREAD)))


def describe_environment(device: torch.device, threads: int, mode: str) -> dict[str, Any]:
    """What environment.json holds."""
    return {
        "gradlab": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "device": device.type,
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else _processor(),
        "threads": threads,
        "processes": parallel.count(),
        "step": mode,
        "command": printable(without_passwords(" ".join(sys.argv))),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


_training = threading.RLock()


@contextmanager
def exclusive() -> Iterator[None]:
    """Refuse other threads that train meanwhile: torch's generators and settings are those of the whole process.

    One training inside another, in the same thread, is fine: it leaves them as they were.
    """
    if not _training.acquire(blocking=False):
        raise GradlabError(
            "Another thread of this process is training. All threads share torch's random generators and settings, so "
            "neither training would give its own results. Train one after the other, or in several processes."
        )
    try:
        yield
    finally:
        _training.release()


@contextmanager
def settings(device: torch.device, threads: int, plan: Plan) -> Iterator[None]:
    """torch's global settings for a run: seeds, threads, determinism. Afterwards they are as they were."""
    exact = plan.deterministic and device.type == "cuda"  # the CPU is exact anyway, and the call imports the compiler
    with exclusive(), torch.random.fork_rng(devices=[torch.cuda.current_device()] if device.type == "cuda" else []):
        before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
        try:
            if exact:
                os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS makes its first handle
                torch.use_deterministic_algorithms(True)
            torch.set_num_threads(threads)
            torch.manual_seed(plan.seed)
            yield
        finally:
            torch.set_num_threads(before[0])
            if exact:
                torch.use_deterministic_algorithms(before[1])
