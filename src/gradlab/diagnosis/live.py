"""The first finding that is sure, told in a line while the training still runs."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from gradlab.diagnosis.finding import Finding
from gradlab.diagnosis.rules import judge
from gradlab.diagnosis.telling import encodable, from_here
from gradlab.diagnosis.watching import Watch

_SHARE, _GRACE = 0.02, 0.05
_FIRST = 5  # steps, before which nothing is judged
_PLAIN, _SOON, _LATE = 0.95, 1.5, 4.0


class Live:
    """Judges at looks what was seen so far, as if the training ended there, in a fiftieth of its time.

    An error is sure once it was found again after half as many steps more. One that rests on the course of the
    training, which may yet turn, has a lower confidence, and must last for four times as many. The record is not
    touched, so that the verdict at the end is what it would have been.
    """

    def __init__(self, watch: Watch, stream: TextIO | None = None):
        self.watch = watch
        self.stream = stream or sys.stderr
        self.reported: Finding | None = None
        self._first_seen: dict[str, int] = {}
        """Errors of the last judgement, with the step at which each was first found."""
        self._process, self._spent, self._began = os.getpid(), 0.0, time.perf_counter()

    def look(self) -> None:
        """After a step that was looked at."""
        now = time.perf_counter()
        if self.watch.step < _FIRST or self.reported is not None or self._over(now):
            return
        sure = self._sure()
        self._spent += time.perf_counter() - now
        if sure is not None and os.getpid() == self._process:  # a child that the script has forked is silent
            self.reported = sure
            self._tell(sure)

    def _over(self, now: float) -> bool:
        """Whether judging has taken its share of the time so far."""
        return self._spent > _GRACE + _SHARE * (now - self._began)

    def _sure(self) -> Finding | None:
        step = self.watch.step
        findings, _ = judge(self.watch.so_far())
        errors = [f for f in findings if f.severity == "error" and f.follows_from is None]
        self._first_seen = {f.slug: self._first_seen.get(f.slug, step) for f in errors}
        return next((f for f in errors if step >= _lasting(f) * self._first_seen[f.slug]), None)

    def _tell(self, finding: Finding) -> None:
        where = f"; {from_here(finding.where)}" if finding.where else ""
        line = f"gradlab doctor, step {self.watch.step:,}: {finding.title}{where} ({finding.slug})\n"
        try:
            self.stream.write(encodable(line, self.stream))
            self.stream.flush()
        except (OSError, ValueError):  # nobody reads on, or the script has closed it
            return


def _lasting(finding: Finding) -> float:
    return _SOON if finding.confidence >= _PLAIN else _LATE
