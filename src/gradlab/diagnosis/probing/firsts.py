"""What the loss is before anything has been learnt."""

from __future__ import annotations

import torch
from torch import Tensor

from gradlab.diagnosis.probing.replay import Replay, seeded
from gradlab.diagnosis.record import Record

_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def first_loss(record: Record, replay: Replay, deadline: float) -> None:
    """The first loss, beside that of a model that knows nothing: log C of C classes, log 2, the targets' own size."""
    capture = replay.capture
    start = f"{capture.root.name}."
    loaded = any(p.loaded or p.inherited for p in record.parameters.values() if p.name.startswith(start))
    if capture.kind is None or capture.view is None or capture.step > 1 or loaded:
        return
    with torch.no_grad():
        seeded()
        predicted = replay.predicted(replay.as_trained())
        seen = float(replay.loss_of(predicted, reduction="mean"))
        ignorant = [float(replay.loss_of(blank, reduction="mean")) for blank in _blanks(replay, predicted)]
    if ignorant:
        record.probed.first_loss = (seen, max(ignorant), capture.kind)


def _blanks(replay: Replay, like: Tensor) -> list[Tensor]:
    """Predictions of one that knows nothing: all classes alike; of numbers, zero or their mean."""
    kind, target = replay.capture.kind, replay.capture.target
    if kind in ("cross_entropy", "binary_cross_entropy_with_logits"):
        return [torch.zeros_like(like)]
    if kind == "binary_cross_entropy":
        return [torch.full_like(like, 0.5)]
    if kind == "nll_loss" and like.ndim > 1:
        return [torch.zeros_like(like).log_softmax(1)]
    if kind in _NUMBERS and target is not None and target.is_floating_point():
        return [torch.zeros_like(like), torch.full_like(like, float(target.mean()))]
    return []
