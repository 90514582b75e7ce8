"""Which learning rate gets furthest on one batch."""

from __future__ import annotations

import inspect
import math
import time
from typing import Any

import torch
from torch import nn

from gradlab.diagnosis.probing.replay import Replay, seeded
from gradlab.diagnosis.progress import poor
from gradlab.diagnosis.record import Optimizer, Record

_STEPS = 20
# Half-decades from a thousandth to a hundred times the script's rate, the nearest first.
_FACTORS = [10 ** (half / 2) for half in sorted(range(-6, 5), key=abs)]
_OTHERWISE = (torch.optim.LBFGS, torch.optim.SparseAdam, torch.optim.Rprop)


def rates(record: Record, replay: Replay, deadline: float) -> None:
    """A few steps from the first weights, with the script's optimiser, at each of several rates."""
    optimizer = max(record.optimizers, key=lambda o: o.steps, default=None)
    if optimizer is None or record.probed.rates or not optimizer.rate.largest > 0:
        return
    # Who has learnt has found a rate.
    if not poor(record, 0.3) or not replay.sound():
        return
    own = optimizer.rate.largest
    with torch.no_grad():
        seeded()
        start = float(replay.loss(replay.as_trained()))
    for factor in _FACTORS:
        if time.thread_time() > deadline:
            return
        model = replay.as_trained()
        stepping = _stepping(optimizer, model, factor * own)
        if stepping is None:
            return
        record.probed.rates[factor * own] = _end(replay, model, stepping, start, deadline)
    record.probed.rate = (own, start, _STEPS)


def _stepping(optimizer: Optimizer, model: nn.Module, rate: float) -> torch.optim.Optimizer | None:
    """The script's optimiser with its settings; None if it is not one of torch's, or has no rate in the usual sense."""
    make: Any = getattr(torch.optim, optimizer.kind, None)
    weights = [p for p in model.parameters() if p.requires_grad]
    if make is None or make in _OTHERWISE or not weights:
        return None
    known = set(inspect.signature(make).parameters) - {"params", "lr", "fused", "foreach", "capturable"}
    settings = {name: value for name, value in optimizer.settings.items() if name in known}
    result: torch.optim.Optimizer = make(weights, lr=rate, **settings)
    return result


def _end(replay: Replay, model: nn.Module, stepping: torch.optim.Optimizer, start: float, deadline: float) -> float:
    for step in range(_STEPS + 1):
        seeded(step)
        stepping.zero_grad()
        loss = replay.loss(model)
        value = float(loss.detach())
        if not math.isfinite(value) or value > 1e3 * abs(start) + 1e3:
            return math.inf
        if step == _STEPS or time.thread_time() > deadline:
            return value
        loss.backward()  # type: ignore[no-untyped-call]
        stepping.step()
    return math.inf
