"""Settings of the process that must be made before torch is loaded. Knows nothing of torch."""

import _thread
import ctypes
import os
import sys
import threading


def prepare() -> None:
    """Called by the command line, which owns its process; a library never changes its host's settings.

    Waiting OpenMP threads sleep instead of spinning: on a shared machine, spinning threads take the cores from those
    that work. And freed memory is kept: a training step frees and asks for the same blocks again and again, and
    giving the large ones back to the kernel each time costs a page fault per 4 KiB. And Ctrl-C is never lost.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.unraisablehook = _interrupt_again
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # glibc; musl has no such call
            trim_threshold, mmap_threshold = -1, -3
            libc.mallopt(trim_threshold, 2**31 - 1)
            libc.mallopt(mmap_threshold, 2**30)


def _interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C in the middle of a callback of the interpreter, where nothing can be raised, comes again after it."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        threading.Timer(0.01, _thread.interrupt_main).start()  # at once would still be inside of the callback
    else:
        sys.__unraisablehook__(unraisable)
