"""Writes outside a folder, which an audit hook sees and refuses: no input may reach a file that is not its own."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {  # event → which of its arguments are paths that change
    "os.mkdir": (0,), "os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.symlink": (1,), "os.link": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.utime": (0,), "sqlite3.connect": (0,),
}  # fmt: skip
_KEEPS_LINKS = {"os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link"}  # what they change is the link itself
_SHARED = ("/dev/", "/proc/")
_SHARED_PARTS = ("__pycache__", "gradlab-hypothesis", "torchinductor_")


class _Watch:
    """The folder that may be written to, while an input is tried, and what else would have been."""

    folder: Path | None = None
    outside: list[str]
    hooked = False


@contextmanager
def refused_outside(folder: Path) -> Iterator[list[str]]:
    """Refuse writes outside a folder while the context lasts; the list names them."""
    if not _Watch.hooked:
        sys.addaudithook(_look)
        _Watch.hooked = True
    _Watch.folder, _Watch.outside = folder.resolve(), []
    try:
        yield _Watch.outside
    finally:
        _Watch.folder = None


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if (folder := _Watch.folder) is None:
        return
    for path in _changed(event, arguments):
        if not path.is_relative_to(folder):
            _Watch.outside.append(f"{event} {path}")
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _changed(event: str, arguments: tuple[Any, ...]) -> Iterator[Path]:
    """Paths that an event would change; what is named relative to an open folder was seen when that was opened."""
    if event == "open":
        path, _, flags = arguments
        if not isinstance(path, str | bytes | os.PathLike) or not isinstance(flags, int) or not flags & _WRITE:
            return
        places: tuple[int, ...] = (0,)
    else:
        places = _CHANGES.get(event, ())
        if any(isinstance(extra, int) and extra >= 0 for extra in arguments[-1:] if event in _KEEPS_LINKS):
            return
    for place in places:
        name = os.fsdecode(arguments[place])
        if event == "sqlite3.connect":
            name = name.removeprefix("file:").split("?")[0]
        if name in ("", ":memory:") or name.startswith(_SHARED) or any(part in name for part in _SHARED_PARTS):
            continue
        path = Path(name)
        yield path.parent.resolve() / path.name if event in _KEEPS_LINKS else path.resolve()
