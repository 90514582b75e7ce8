"""Processes that train together, started by `torchrun`: one verdict for all of their ranks.

They meet at the store of torchrun's agent, which outlives them all, and not in the script's own process group: the
script may have left that, or wait in it for a rank that has failed.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from gradlab.diagnosis.finding import Finding, Verdict, ranked
from gradlab.parallel import Launch

_CONNECT = timedelta(seconds=10)
_OTHERS = timedelta(minutes=5)
"""How long the first rank waits for another that is still at work when it has ended."""
_FIRST, _REPORT = timedelta(seconds=10), timedelta(minutes=1)
"""How long a rank that has failed waits for the first to end too, and then for its report: torchrun ends all others
with it, and the first may be waiting for it."""


def count() -> int:
    return Launch.read().world_size


def rank() -> int:
    return Launch.read().rank


def together() -> bool:
    """Whether other processes train with this one: a copy of the model that runs here alone would wait for theirs."""
    from torch import distributed

    joined = distributed.is_available() and distributed.is_initialized()
    return count() > 1 or (joined and distributed.get_world_size() > 1)


class Ranks:
    """The first rank hears the others and tells for all; one that cannot reach it tells for itself."""

    def __init__(self) -> None:
        self._store: Any = None

    def verdict(self, own: Verdict, failed: bool) -> Verdict | None:
        """That of all ranks at the first of them; None at another whose findings the first tells."""
        self._store = _store()
        if self._store is None:
            alone = "The other ranks could not be heard: there is no store of torchrun's."
            return replace(merged({rank(): own}), faults=[*own.faults, alone])
        if rank() == 0:
            return merged({0: own} | self._heard())
        self._store.set(str(rank()), json.dumps(own.as_json()))
        return None if not failed or self._is_reported() else merged({rank(): own})

    def reported(self) -> None:
        """The first has reported: those that have failed may go."""
        if self._store is not None and rank() == 0:
            self._store.set("reported", "")

    def _heard(self) -> dict[int, Verdict]:
        self._store.set("ended", "")
        heard = {}
        for other in range(1, count()):
            if self._comes(str(other), _OTHERS):
                heard[other] = Verdict.from_json(json.loads(self._store.get(str(other))))
            else:
                heard[other] = _silent(f"Rank {other} was not heard: it had not ended minutes after the first.")
        return heard

    def _is_reported(self) -> bool:
        return self._comes("ended", _FIRST) and self._comes("reported", _REPORT)

    def _comes(self, key: str, patience: timedelta) -> bool:
        try:
            self._store.wait([key], patience)
        except RuntimeError:  # of torch.distributed: too late, or the agent is gone
            return False
        return True


def _store() -> Any:
    """That of torchrun's agent; None where another launcher has started the processes."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return None
    from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]  # public all the same

    try:
        store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False, timeout=_CONNECT)
    except (KeyError, RuntimeError):
        return None
    return PrefixStore(f"gradlab-doctor-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


def _silent(why: str) -> Verdict:
    return Verdict(findings=[], steps=0, seconds=0.0, faults=[why], refusal=why)


def merged(verdicts: Mapping[int, Verdict]) -> Verdict:
    """One verdict: what several ranks have found in the same place is told once, as the gravest of them has it."""
    trained = {rank: verdict for rank, verdict in verdicts.items() if verdict.refusal is None}
    faults = Counter(fault for verdict in verdicts.values() for fault in verdict.faults)
    if not trained:
        return replace(next(iter(verdicts.values())), faults=list(faults))
    return Verdict(
        findings=_findings(trained),
        steps=max(verdict.steps for verdict in trained.values()),
        seconds=max(verdict.seconds for verdict in trained.values()),
        faults=list(faults),
        ranks=tuple(trained),
    )


def _findings(verdicts: Mapping[int, Verdict]) -> list[Finding]:
    by_place: dict[tuple[str, str, int], dict[int, Finding]] = {}
    for rank, verdict in verdicts.items():
        before: Counter[tuple[str, str]] = Counter()  # a rule may have several cases in one place
        for finding in verdict.findings:
            place = finding.slug, finding.where
            by_place.setdefault((*place, before[place]), {})[rank] = finding
            before[place] += 1
    return ranked([replace(ranked(list(by.values()))[0], ranks=tuple(by)) for by in by_place.values()])
