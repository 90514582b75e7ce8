"""Settings of the process that must be made before torch is loaded. Knows nothing of torch."""

import _thread
import contextlib
import ctypes
import os
import signal
import stat
import sys
import threading
import time
from pathlib import Path
from types import FrameType

_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def prepare() -> None:
    """Called by the command line, which owns its process; a library never changes its host's settings.

    A waiting OpenMP thread spins for about a tenth of a millisecond before it sleeps: the next small operation of a
    step comes sooner than that, and waking a thread for each would take longer than the work it is given; but one that
    spun on, as by default, would take its core from others' work. And freed memory is kept: a training step frees and
    asks for the same blocks again and again, and giving the large ones back to the kernel each time costs a page fault
    per 4 KiB. And Ctrl-C is never lost; being ended politely, or losing the terminal, is the same as Ctrl-C.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "30000")
    sys.unraisablehook = _report_or_interrupt_again
    # What is ignored, as under nohup, stays so. Several processes are ended together by torchrun, which need not wait.
    alone = os.environ.get("WORLD_SIZE", "1") == "1"
    for number in STOPPING if alone else [signal.SIGINT]:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, interrupt)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # glibc; musl has no such call
            trim_threshold, mmap_threshold = -1, -3
            libc.mallopt(trim_threshold, 2**31 - 1)
            libc.mallopt(mmap_threshold, 2**30)


STOPPING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""By which a process is asked to stop."""


def leave_lost_terminal() -> None:
    """After SIGHUP the terminal may be gone, and writing to it would fail: what is printed then goes nowhere."""
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


class _Interrupt:
    """Ctrl-C as Python has it, except that it waits for an import to end.

    Some libraries catch whatever is raised while they load their parts: the interrupt would be lost, or leave a
    module half loaded that fails in its own way later.
    """

    patience = 5.0  # seconds: a module that never ends loading can be left

    def __init__(self) -> None:
        self.raised = False  # what fails after that is its doing: some libraries turn it into an error of their own
        self._since: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        leave_lost_terminal()
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if _importing(frame) and now - self._since < self.patience:
            _interrupt_soon(number)
        else:
            self._since, self.raised = None, True
            signal.default_int_handler(number, frame)


interrupt = _Interrupt()


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _interrupt_soon(number: int = signal.SIGINT) -> None:
    threading.Timer(0.01, _thread.interrupt_main, [number]).start()


def _report_or_interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C in the middle of a callback of the interpreter, where nothing can be raised, comes again after it."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _interrupt_soon()  # at once would still be inside of the callback
    else:
        sys.__unraisablehook__(unraisable)


def memory() -> int:
    """Bytes that this process may have."""
    most = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [2**33]
    most += _container_limits()
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return min(most)
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    return min(most + [limit for limit in limits if limit != resource.RLIM_INFINITY])


def free_memory() -> int:
    """Bytes of those that nobody uses, as far as the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return min(memory(), *(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")))
    except (OSError, TypeError):  # not Linux
        return memory()


def _container_limits() -> list[int]:
    """What a container allows; without a limit there is no such file, or it says `max`."""
    texts = [path.read_text().strip() for path in _CONTAINER if path.is_file()]
    return [int(text) for text in texts if text.isdigit()]
