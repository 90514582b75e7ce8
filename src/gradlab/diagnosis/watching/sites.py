"""Which line of the user's code a call came from, and what the user calls a thing."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from gradlab.diagnosis.record import Site

OURS = str(Path(__file__).parents[1]) + os.sep
_TORCH = str(Path(torch.__file__).parent) + os.sep
_INSTALLED = tuple(
    {str(Path(p)) + os.sep for p in (*site.getsitepackages(), sysconfig.get_paths()["purelib"])}
    | {str(Path(sysconfig.get_paths()["stdlib"])) + os.sep}
)


@lru_cache(maxsize=4096)
def _rank(file: str) -> int:
    """0: the user's; 1: of an installed package; 2: of torch, ours, or of Python itself."""
    if file.startswith((OURS, _TORCH, "<frozen ")):
        return 2
    return 1 if file.startswith(_INSTALLED) else 0


def is_users(frame: FrameType) -> bool:
    return _rank(frame.f_code.co_filename) == 0


def user_frame() -> FrameType | None:
    """The nearest frame of the user's code; of a package that trains for the user, if there is none."""
    frame: FrameType | None = sys._getframe(1)
    nearest = None
    while frame is not None:
        rank = _rank(frame.f_code.co_filename)
        if rank == 0:
            return frame
        if rank == 1 and nearest is None:
            nearest = frame
        frame = frame.f_back
    return nearest


def caller() -> Site | None:
    frame = user_frame()
    return None if frame is None else site_of(frame)


def site_of(frame: FrameType) -> Site:
    return Site(_short(frame.f_code.co_filename), frame.f_lineno)


def users_site(file: str, line: int) -> Site | None:
    """A line, if it is of the user's own code."""
    return Site(_short(file), line) if _rank(file) == 0 else None


@lru_cache(maxsize=4096)
def _short(file: str) -> str:
    """Relative to where the user is, if that is shorter."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return relative if not relative.startswith("..") and not file.startswith("<") else file


def name_in(frame: FrameType | None, wanted: Any) -> str | None:
    """What a frame's variables call an object: `net`, `self.net`, `layers[2]`, `layers[2][0]`, `params["w1"]`."""
    if frame is None:
        return None
    for name, value in _variables(frame):
        if value is wanted:
            return name
    for name, value in _variables(frame):
        if isinstance(value, (list, tuple)) and len(value) <= 200:
            for i, item in enumerate(value):
                if item is wanted:
                    return f"{name}[{i}]"
                if isinstance(item, (list, tuple)) and len(item) <= _PAIR:
                    for j, inner in enumerate(item):
                        if inner is wanted:
                            return f"{name}[{i}][{j}]"
        elif isinstance(value, dict) and len(value) <= 200:
            for key, item in value.items():
                if item is wanted:
                    return f"{name}[{key!r}]"
    return None


_PAIR = 8  # weights and biases of a layer, not the rows of a table


def _locals(frame: FrameType) -> dict[str, Any]:
    """A copy. Of a function, Python before 3.13 would keep what it gives, and with it all that the variables held."""
    variables = frame.f_locals
    known = dict(variables)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & CO_OPTIMIZED and sys.getrefcount(variables) <= _UNSHARED:
        variables.clear()
    return known


_UNSHARED = 3  # references: the frame's, ours, and that of the question; with more, the user has called locals()


def _variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    known = _locals(frame)
    yield from ((n, v) for n, v in known.items() if not n.startswith("_"))
    self = known.get("self")
    if self is not None and hasattr(self, "__dict__"):
        yield from ((n, v) for n, v in vars(self).items() if not n.startswith("_"))
    if frame.f_globals is not frame.f_locals:
        yield from ((n, v) for n, v in list(frame.f_globals.items()) if not n.startswith("_"))
