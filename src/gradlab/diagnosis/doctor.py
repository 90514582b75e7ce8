"""The doctor: watches a training and says what is wrong with it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from gradlab.diagnosis.finding import Verdict
from gradlab.diagnosis.probing import probe
from gradlab.diagnosis.ranks import together
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules import judge
from gradlab.diagnosis.watching import Enough, Watch
from gradlab.errors import GradlabError

__all__ = ["Doctor", "Enough"]


class Doctor:
    """Watches whatever trains inside of its `with` block, and tells its verdict after it.

    >>> import torch
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with Doctor(tell=False) as doctor:
    ...     for _ in range(3):
    ...         optimizer.zero_grad()
    ...         model(torch.ones(4, 2)).square().mean().backward()
    ...         optimizer.step()
    >>> doctor.verdict.steps
    3
    """

    def __init__(self, *, steps: int | None = None, deep: bool = False, tell: bool = True, live: bool = False):
        self.deep, self.tell = deep, tell
        self._watch = Watch(steps, keeping=deep)
        if live:
            from gradlab.diagnosis.live import Live

            self._watch.listener = Live(self._watch).look
        self._verdict: Verdict | None = None

    @property
    def record(self) -> Record:
        return self._watch.record

    @property
    def done(self) -> bool:
        """Whether it has made up its mind."""
        return self._verdict is not None

    @property
    def verdict(self) -> Verdict:
        """What it found; there is none before the block has ended."""
        if self._verdict is None:
            raise GradlabError("The doctor is still watching: its verdict comes after the `with` block.")
        return self._verdict

    def __enter__(self) -> Self:
        self._watch.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """An end after as many steps as were asked for is a good end; whatever else was raised goes on."""
        self._watch.__exit__(kind, error, trace)
        ended = kind is None or issubclass(kind, (Enough, Exception, SystemExit))
        if self.record.steps >= 20 and ended and not together():
            self._watch.notes += probe(self.record, self.deep)
        self._verdict = self._judge()
        if self.tell:
            self.say()
        return kind is not None and issubclass(kind, Enough)

    def say(self) -> None:
        """Tell the verdict on stderr."""
        from gradlab.diagnosis.telling import tell

        tell(self.verdict, self.record, sys.stderr)

    def _judge(self) -> Verdict:
        record = self.record
        refusal = _nothing_seen(record)
        findings, faults = ([], []) if refusal and not record.losses else judge(record)
        if any(finding.severity != "note" for finding in findings):
            refusal = None  # that nothing has changed has a cause
        elif refusal:
            findings = []
        return Verdict(
            findings=findings,
            steps=record.steps,
            seconds=record.seconds,
            faults=[*self._watch.faults, *faults],
            refusal=refusal,
        )


def _nothing_seen(record: Record) -> str | None:
    if record.steps:
        return None
    if not record.losses:
        return "No training was seen: nothing called backward()."
    return (
        f"Nothing was trained: backward() was called {sum(loss.count for loss in record.losses)} times, but no "
        "optimiser "
        "stepped and no parameter changed. Call optimizer.step() after loss.backward()."
    )
