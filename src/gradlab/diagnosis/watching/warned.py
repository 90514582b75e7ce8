"""Warnings that come while a watch is open name the line that they would name without it."""

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from gradlab.diagnosis.watching.sites import OURS, SCRIPT

_BEYOND = 2**20  # frames up from where there are none


def past_our_frames(warn: Callable[..., None]) -> Callable[..., None]:
    """`warnings.warn` without the frames of our wrappers: each line of a script then has warnings of its own."""

    @functools.wraps(warn)
    def warned(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
        if torch.compiler.is_compiling():
            warn(message, category, stacklevel, source)
        else:
            warn(message, category, 1 + _depth(sys._getframe(1), stacklevel), source)

    return warned


def _depth(frame: FrameType | None, stacklevel: int) -> int:
    """How many frames up the asked one is, as Python counts them, which leaves out those that import."""
    depth, counted = 0, 0
    while frame is not None:
        file = frame.f_code.co_filename
        if file == SCRIPT:
            return _BEYOND
        if "importlib" not in file or "_bootstrap" not in file:
            depth += 1
            counted += not file.startswith(OURS)
            if counted >= stacklevel:
                return depth
        frame = frame.f_back
    return _BEYOND
