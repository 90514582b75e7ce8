"""Code of a user's in a process of its own: it may end that process or never return, and neither passes for a result.

The result comes through a pipe that nothing else is written to. Where there is no result, that is an error, whatever
the exit code is. The process is forked before torch is loaded, which costs some milliseconds.
"""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.connection
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from gradlab.errors import GradlabError, is_out_of_memory
from gradlab.wording import duration

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_GRACE = 2.0  # seconds that a process has to end by itself


def run_isolated(function: Callable[..., Any], *arguments: Any, subject: str, limit: float) -> Any:
    """The result of a function, which must be plain as JSON is; `subject` names the user's code in messages."""
    context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send_result, args=(sender, function, arguments))
    with receiver, _running(child):
        sender.close()
        in_time = bool(multiprocessing.connection.wait([receiver, child.sentinel], limit))
        answer = _receive(receiver)
        child.join(_GRACE if in_time else 0)
    if answer is not None:
        return _value(*answer)
    if not in_time:
        raise GradlabError(
            f"{subject} did not end within {duration(limit)}. If it needs more time: --time-limit SECONDS"
        )
    raise GradlabError(
        f"{subject} ended its process ({_ending(child.exitcode)}) before there was a result. Leave out what ends it, "
        "such as sys.exit() or os._exit()."
    )


@contextmanager
def _running(child: BaseProcess) -> Iterator[None]:
    """Until the end of the block at the latest, also after Ctrl-C."""
    child.start()
    try:
        yield
    finally:
        for stop in (child.terminate, child.kill):
            if child.is_alive():
                stop()
                child.join(_GRACE)


def _send_result(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """What the child does."""
    try:
        answer = ["result", function(*arguments)]
    except KeyboardInterrupt:
        return
    except GradlabError as error:
        answer = ["refused", str(error)]
    except Exception as error:
        import traceback

        answer = ["memory" if is_out_of_memory(error) else "fault", traceback.format_exc()]
    sys.stdout.flush()
    sys.stderr.flush()
    sender.send_bytes(json.dumps(answer).encode())


def _receive(receiver: Connection) -> tuple[str, Any] | None:
    """What the child sent; nothing where it did not, or something else was written to its pipe."""
    try:
        kind, value = json.loads(receiver.recv_bytes()) if receiver.poll() else (None, None)
    except (EOFError, OSError, TypeError, ValueError):
        return None
    return (kind, value) if kind in ("result", "refused", "memory", "fault") else None


def _value(kind: str, value: Any) -> Any:
    if kind == "refused":
        raise GradlabError(value)
    if kind == "memory":
        raise MemoryError(value)
    if kind == "fault":
        raise RuntimeError(value)
    return value


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
