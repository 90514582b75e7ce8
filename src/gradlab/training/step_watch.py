"""What a replayed step would not repeat: looked for in eager steps, and named with the line that does it."""

import dis
import linecache
import random
import re
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TextIO

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from gradlab.diagnosis.watching.sites import site_of, users_site
from gradlab.printable import printable
from gradlab.training.python_state import PythonState, UnreadableState, ValuePlace, read_python_state

_WAITS = "called a synchronizing CUDA operation"


@dataclass(frozen=True)
class HostWaits:
    """How often the host waited for the device in a step, for how long, and where first."""

    count: int
    seconds: float
    first: str


class StepWatch:
    """Looks at eager steps for what a replay would not repeat; `reason` is the first thing of that kind.

    A replay repeats what the device does, and nothing that Python does: no branch, no counter, no random number of the
    host, no hook and no output.
    """

    def __init__(self, roots: Mapping[str, Any], device: torch.device, reason: str = ""):
        self.roots, self.device, self.reason = roots, device, reason
        self.state = PythonState()  # after the last step
        self.waits: HostWaits | None = None

    def read(self) -> bool:
        """Read the Python state; False where it cannot be compared, or differs from that after the last step."""
        try:
            state = read_python_state(self.roots, self.device)
        except UnreadableState as error:
            self.reason = self.reason or str(error)
            return False
        change, self.state = self.state.change(state) if self.state.values else None, state
        if change is not None:
            self.reason = self.reason or describe_change(*change)
        return not self.reason

    def forget(self) -> None:
        """Take the state that is read next as it is: nothing has been recorded yet that depends on the last one."""
        self.state = PythonState()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at what is done meanwhile, which is an eager step."""
        if not self.read():
            yield
            return
        generators = _generator_states(self.device)
        with _host_waits(self.device) as (waits, timer), _output() as output:
            yield
        if waits:
            self.reason, self.waits = waits[0], HostWaits(len(waits), timer.seconds, waits[0])
        elif self.read():
            later = _generator_states(self.device)
            moved = [name for name, state in generators.items() if state != later[name]]
            if moved:
                self.reason = f"{_random_line(self.state.functions)}draws from {moved[0]}"
            elif output:
                self.reason = f"{output[0]}prints"


@contextmanager
def _host_waits(device: torch.device) -> "Iterator[tuple[list[str], _WaitTimer]]":
    """What makes the host wait for the device, with its line, and how long that takes."""
    waits: list[str] = []
    timer = _WaitTimer(waits)
    if device.type != "cuda":
        yield waits, timer
        return
    before, show = torch.cuda.get_sync_debug_mode(), warnings.showwarning

    def note(message: Any, category: Any, *place: Any, **rest: Any) -> None:
        if _WAITS in str(message):
            waits.append(_describe_wait(_frame_in_step()))
        else:
            show(message, category, *place, **rest)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Synchronization debug mode")
        warnings.filterwarnings("always", message=_WAITS)
        warnings.showwarning = note
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with timer:
                yield waits, timer
        finally:
            torch.cuda.set_sync_debug_mode(before)


class _WaitTimer(TorchFunctionMode):
    """Adds up how long those calls took in which the host waited."""

    def __init__(self, waits: list[str]):
        super().__init__()
        self.waits, self.seconds = waits, 0.0

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        before, began = len(self.waits), time.perf_counter()
        result = function(*args, **(kwargs or {}))
        if len(self.waits) > before:
            self.seconds += time.perf_counter() - began
        return result


def _frame_in_step() -> types.FrameType | None:
    """The nearest frame of the user's code within the step; of a package, if there is none."""
    frame: types.FrameType | None = sys._getframe(2)
    nearest = None
    while frame is not None and frame.f_code.co_filename != _CAPTURE:
        file = frame.f_code.co_filename
        if users_site(file, frame.f_lineno) is not None:
            return frame
        if nearest is None and not file.startswith(_SILENT) and file != warnings.__file__:
            nearest = frame
        frame = frame.f_back
    return nearest


_CAPTURE = __file__.replace("step_watch", "capture")
_SILENT = (torch.__path__[0], __file__.rpartition("training")[0], "<frozen ")


def _describe_wait(frame: types.FrameType | None) -> str:
    if frame is None:
        return "it waits for the device"
    text = _expression(frame)
    copies = re.search(r"\.(to|cuda)\(|tensor\(", text)
    return f"{site_of(frame)} {'copies from the host' if copies else 'reads a value back'}: {printable(text, 80)}"


def _expression(frame: types.FrameType) -> str:
    """The source of what a frame is computing."""
    file, number = frame.f_code.co_filename, frame.f_lineno
    line = linecache.getline(file, number)
    first, last, start, end = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    if first is not None and first == last:
        line = line.encode()[start:end].decode(errors="replace")
    return line.strip()


@contextmanager
def _output() -> Iterator[list[str]]:
    """Lines of the step that write to standard output or error."""
    lines: list[str] = []
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_WriteCounter(stream, lines) for stream in before)
    try:
        yield lines
    finally:
        sys.stdout, sys.stderr = before


class _WriteCounter:
    """A stream that notes who writes to it; a progress bar, which another thread draws, is none of the step's."""

    def __init__(self, stream: TextIO, lines: list[str]):
        self.stream, self.lines, self.thread = stream, lines, threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self.thread:
            frame = _frame_in_step()
            self.lines.append(f"{site_of(frame)} " if frame is not None else "it ")
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _generator_states(device: torch.device) -> dict[str, bytes]:
    """Of the generators of the host that everybody shares."""
    kind, keys, *rest = np.random.get_state(legacy=True)
    states = {
        "Python's random numbers": repr(random.getstate()).encode(),
        "NumPy's random numbers": np.asarray(keys).tobytes() + repr((kind, rest)).encode(),
    }
    if device.type != "cpu":
        states["PyTorch's random numbers on the CPU"] = bytes(torch.get_rng_state().numpy())
    return states


def _random_line(functions: Iterable[types.FunctionType]) -> str:
    """The first line of the user's that names a source of random numbers."""
    for function in functions:
        line = _line_with(function.__code__, ("LOAD_GLOBAL",), {"random", "np", "numpy"})
        if line is not None:
            return f"{users_site(function.__code__.co_filename, line)} "
    return "it "


def describe_change(place: ValuePlace, before: tuple[Any, ...], after: tuple[Any, ...]) -> str:
    """A change of Python state in a step, with the line that makes it."""
    owner, kinds = place.owner, (before[0], after[0])
    name = f"{owner.__name__}.{place.name}" if isinstance(owner, type) and place.name else place.path
    line = _line_of_change(owner, place.name)
    if kinds == ("value", "value"):
        return f"{line}changes {name} from {printable(repr(before[2]), 40)} to {printable(repr(after[2]), 40)}"
    if kinds == ("random", "random"):
        return f"{line}draws from the generator {name}"
    if kinds == ("tensor", "tensor"):
        return f"{line}replaces the tensor {name}"
    return f"{line}changes {name}"


def _line_of_change(owner: Any, name: str) -> str:
    """Where a class or a function changes something that it calls by this name: where it stores or else loads it."""
    if isinstance(owner, type):
        parts = [part for base in owner.__mro__ for part in vars(base).values()]
        functions = [part for part in parts if isinstance(part, types.FunctionType) and part.__name__ != "__init__"]
    else:
        functions = [owner] if isinstance(owner, types.FunctionType) else []
    for operations in _STORES, _LOADS:
        for function in functions:
            line = _line_with(function.__code__, operations, {name})
            site = None if line is None else users_site(function.__code__.co_filename, line)
            if site is not None:
                return f"{site} "
    return "it "


_STORES = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF")
_LOADS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_DEREF")


def _line_with(code: types.CodeType, operations: tuple[str, ...], names: set[str]) -> int | None:
    for instruction in dis.get_instructions(code):
        if instruction.opname in operations and instruction.argval in names and instruction.positions is not None:
            return instruction.positions.lineno
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return next((line for part in inner if (line := _line_with(part, operations, names)) is not None), None)
