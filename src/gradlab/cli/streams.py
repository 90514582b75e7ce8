"""Standard output and error that fail: on a full file system, or closed by whoever started the command."""

import errno
import io
import os
import sys
from typing import TextIO


class StandardStream(io.FileIO):
    """The file behind a standard stream. The first refused write is remembered, and what follows is dropped.

    What a command computes must not be lost because its output cannot be printed. That the reader of a pipe has left is
    raised once, since nobody is left to work for.
    """

    failure: OSError | None = None

    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
                if isinstance(error, BrokenPipeError):
                    raise
        return len(data)


def guard_streams() -> StandardStream | None:
    """Put such streams in the place of this process's own; returns that of the output, unless it is somebody else's."""
    _guard("stderr", 2)
    return _guard("stdout", 1)


def _guard(name: str, descriptor: int) -> StandardStream | None:
    stream: TextIO | None = getattr(sys, name)
    if stream is not getattr(sys, f"__{name}__"):
        return None
    file = _open(descriptor)
    options = {} if stream is None else {"encoding": stream.encoding, "line_buffering": stream.line_buffering}
    setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(file), errors="backslashreplace", **options))
    return file


def _open(descriptor: int) -> StandardStream:
    try:
        return StandardStream(descriptor, "w", closefd=False)
    except OSError:  # closed: its number must not become that of a file that is opened later
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != descriptor:
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
    file = StandardStream(descriptor, "w", closefd=False)
    file.failure = OSError(errno.EBADF, "it is closed")
    return file
