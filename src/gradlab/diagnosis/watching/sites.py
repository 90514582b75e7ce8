"""Which line of the user's code a call came from, and what the user calls a thing."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from inspect import CO_OPTIMIZED
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from gradlab.diagnosis.record import Site

OURS = str(Path(__file__).parents[1]) + os.sep
SCRIPT = f"{OURS}script.py"
"""Which runs a script: above it there is nothing that the script knows of."""
_PATHS = sysconfig.get_paths()


def _folders(*names: str) -> tuple[str, ...]:
    return tuple({str(Path(name)) + os.sep for name in names})


_TORCH, _GRADLAB = str(Path(torch.__file__).parent) + os.sep, str(Path(__file__).parents[2]) + os.sep
_INSTALLED = _folders(
    *(*site.getsitepackages(), site.getusersitepackages(), _PATHS["purelib"], _PATHS["platlib"], _GRADLAB)
)
_STDLIB = _folders(_PATHS["stdlib"], _PATHS["platstdlib"])
_PACKAGES = {"site-packages", "dist-packages"}
"""Folders of this name hold installed packages also where they are those of another environment."""


@lru_cache(maxsize=4096)
def _rank(file: str) -> int:
    """0: the user's; 1: of an installed package; 2: of torch, the doctor's, or of Python itself; 3: beyond a script."""
    if file == SCRIPT:
        return 3
    if file.startswith((OURS, _TORCH, "<frozen ")):
        return 2
    if file.startswith(_INSTALLED) or not _PACKAGES.isdisjoint(Path(file).parts):
        return 1
    return 2 if file.startswith(_STDLIB) else 0


def _rank_of(frame: FrameType) -> int:
    """Code without a file was typed in by the user if it runs as `__main__`; else a package has generated it."""
    file = frame.f_code.co_filename
    rank = _rank(file)
    return 1 if rank == 0 and file[:1] == "<" and frame.f_globals.get("__name__") != "__main__" else rank


def is_users(frame: FrameType | None) -> bool:
    return frame is not None and _rank_of(frame) == 0


def of_a_package(kind: type) -> bool:
    """Whether a class is none of the user's."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and _rank(file) > 0


def _frames() -> Iterator[FrameType]:
    """From where we are called up to what runs the script."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != SCRIPT:
        yield frame
        frame = frame.f_back


def user_frame() -> FrameType | None:
    """The nearest frame of the user's code; of a package that trains for the user, if there is none."""
    frame: FrameType | None = sys._getframe(1)
    nearest = None
    while frame is not None:  # `_frames` written out, as every step comes here
        rank = _rank(frame.f_code.co_filename)
        if rank == 0 and is_users(frame):
            return frame
        if rank == 3:
            break
        if rank < 2 and nearest is None:
            nearest = frame
        frame = frame.f_back
    return nearest


def nearest_frame() -> FrameType | None:
    """Of the user's code or a package, whichever is nearer."""
    return next((frame for frame in _frames() if _rank_of(frame) < 2), None)


def caller() -> Site | None:
    frame = user_frame()
    return None if frame is None else site_of(frame)


def site_of(frame: FrameType) -> Site:
    return Site(_short(frame.f_code.co_filename), frame.f_lineno)


@lru_cache(maxsize=4096)
def _short(file: str) -> str:
    """Relative to where the user is, if that is shorter."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return relative if not relative.startswith("..") and not file.startswith("<") else file


def module_name(module: nn.Module) -> str | None:
    """What the user calls a module, in the nearest of the functions that are running; a framework may lie between."""
    users = islice((frame for frame in _frames() if is_users(frame)), _FRAMES)
    return next((name for frame in users if (name := name_in(frame, module)) is not None), None)


def name_in(frame: FrameType | None, wanted: Any) -> str | None:
    """What a frame's variables call an object: `net`, `self.net`, `layers[2]`, `params["w1"]`."""
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
        elif isinstance(value, dict) and len(value) <= 200:
            for key, item in value.items():
                if item is wanted:
                    return f"{name}[{key!r}]"
    return None


_FRAMES = 8  # of the user's, from the nearest: a deep recursion is no place to look for names


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
    self = known.pop("self", None)  # which says less than what the user calls it elsewhere, or its class
    yield from ((n, v) for n, v in known.items() if not n.startswith("_"))
    if self is not None and hasattr(self, "__dict__"):
        yield from ((n, v) for n, v in vars(self).items() if not n.startswith("_"))
        yield from vars(self).get("_modules", {}).items() if isinstance(self, nn.Module) else ()
    if frame.f_globals is not frame.f_locals:
        yield from ((n, v) for n, v in list(frame.f_globals.items()) if not n.startswith("_"))
