"""A stranger's script, run as Python would run it, with the doctor watching.

The process is the script's from here on: its `__main__`, sys.argv and sys.path stay as it had them, so that what runs
after it (its exit handlers, probes of its models) finds its classes where they were.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import pairwise
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from gradlab.diagnosis.finding import Verdict
from gradlab.diagnosis.program import NotRunnable, find_module, find_script
from gradlab.errors import one_line

if TYPE_CHECKING:
    from gradlab.diagnosis.doctor import Doctor
    from gradlab.diagnosis.record import Record

_OURS = f"{Path(__file__).parent}{os.sep}"


@dataclass(frozen=True)
class Outcome:
    """What came of a script."""

    verdict: Verdict
    record: "Record | None"
    """None if it never imported torch."""
    code: int
    """The exit code it would have had."""
    failure: str | None = None
    """How it ended, in a few words, if not well."""


def run(
    target: str,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    steps: int | None = None,
    deep: bool = False,
    live: bool = False,
) -> Outcome:
    """Run a script, or a module by its name, to its end or for so many optimiser steps; what it prints is its own.

    Its failure is told on stderr as Python tells it, before the doctor makes up its mind.
    """
    process, began = os.getpid(), time.perf_counter()
    script = None if module else find_script(target)
    call = _Call(steps=steps, deep=deep, live=live)
    call.wait()
    error = None
    try:
        sys.argv = ["-m", *arguments]
        program = script or find_module(target)
        sys.argv[0] = program.argv0
        sys.modules["__main__"] = main = program.as_main()
        exec(program.code, vars(main))
    except NotRunnable:
        call.cancel()
        raise
    except BaseException as raised:
        error = raised
    stopped = error is not None and _was_stopped(error)
    code, failure = (0, None) if error is None or stopped else _ended(error)
    _flush()
    if os.getpid() != process:  # a child that the script forked has come to the script's end
        sys.exit(code)
    return Outcome(*call.end(target, error, time.perf_counter() - began), code, failure)


class _Call(MetaPathFinder):
    """The doctor comes when torch does. Were torch there before, it would not see what a script sets for it first:
    the number of threads, the devices, the allocator."""

    def __init__(self, **options: Any):
        self._options = options
        """Of the doctor."""
        self._doctor: Doctor | None = None
        self._faults: list[str] = []

    def wait(self) -> None:
        if "torch" in sys.modules:
            self._come()
        else:
            sys.meta_path.insert(0, self)

    def cancel(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._doctor is not None:
            self._doctor.__exit__(None, None, None)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """That of the next finder. Its loader calls us; to ask for a spec is not yet to load."""
        if fullname != "torch":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((s for f in others if (s := f.find_spec(fullname, path, target)) is not None), None)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        load = loader.exec_module

        def load_and_come(loaded: ModuleType) -> None:
            load(loaded)
            del loader.exec_module
            sys.meta_path.remove(self)
            self._come()

        loader.exec_module = load_and_come
        return spec

    def _come(self) -> None:
        try:
            from gradlab.diagnosis.doctor import Doctor

            doctor = Doctor(**self._options, tell=False)
            doctor.__enter__()
            self._doctor = doctor
        except Exception as error:
            self._faults.append(f"It could not begin: {type(error).__name__}: {one_line(error)}")

    def end(self, target: str, error: BaseException | None, seconds: float) -> tuple[Verdict, "Record | None"]:
        doctor, self._doctor = self._doctor, None
        self.cancel()
        if doctor is not None:
            try:
                doctor.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
                return doctor.verdict, doctor.record
            except Exception as fault:
                self._faults.append(f"It could not make up its mind: {type(fault).__name__}: {one_line(fault)}")
        refusal = f"{target} used no torch, so there is no training to look at."
        if self._faults:
            refusal = "The doctor itself failed, so it can say nothing of this training."
        return Verdict(findings=[], steps=0, seconds=seconds, faults=self._faults, refusal=refusal), None


def _was_stopped(error: BaseException) -> bool:
    """Whether it is the doctor's own end after so many steps, or what the script made of it."""
    if "gradlab.diagnosis.doctor" not in sys.modules:
        return False
    from gradlab.diagnosis.doctor import Enough

    return any(isinstance(e, Enough) for e in _chain(error))


def _ended(error: BaseException) -> tuple[int, str | None]:
    """Tell it as Python would; the exit code, and how the script ended."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            code = error.code or 0
            return code, f"ended by sys.exit({code})" if code else None
        print(error.code, file=sys.stderr)
        return 1, "ended by sys.exit with a message"
    for e in _chain(error):
        e.__traceback__ = _without_ours(e.__traceback__)
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException:
        sys.__excepthook__(type(error), error, error.__traceback__)
    interrupted = isinstance(error, KeyboardInterrupt)
    return (130, "was interrupted") if interrupted else (1, f"ended with {type(error).__name__}")


def _chain(error: BaseException) -> list[BaseException]:
    """An exception, with those it came from and those it is a group of."""
    chain: dict[int, BaseException] = {}
    waiting = [error]
    while waiting:
        if id(e := waiting.pop()) not in chain:
            chain[id(e)] = e
            inner = e.exceptions if isinstance(e, BaseExceptionGroup) else ()
            waiting += [other for other in (e.__cause__, e.__context__, *inner) if other is not None]
    return list(chain.values())


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_OURS):
            kept.append(traceback)
        traceback = traceback.tb_next
    for earlier, later in pairwise([*kept, None]):
        if earlier is not None:
            earlier.tb_next = later
    return kept[0] if kept else None


def _flush() -> None:
    """What the script printed comes before what is said of it, where both are seen in one place."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed or replaced by the script, or nobody reads on: Python tells of it at its end
            continue
