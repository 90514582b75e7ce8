"""Whether evaluation mode undoes what training mode has learnt."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from gradlab.diagnosis.probing.replay import Replay, answers, first, seeded
from gradlab.diagnosis.record import Probed, Record

_DRAWS, _SUSPECTS = 3, 24


def modes(record: Record, replay: Replay, deadline: float) -> None:
    """The loss of the same batch in both modes, with the weights of the end; and whose mode it is that matters."""
    model = replay.ended() if replay.has_loss else None
    if model is None or not model.training:
        return
    with torch.no_grad():
        state = {name: t.clone() if isinstance(t, Tensor) else t for name, t in model.state_dict().items()}
        flags = {part: part.training for part in model.modules()}

        def loss_without(asleep: set[nn.Module]) -> float:
            """With these in evaluation mode, and the rest as it was trained."""
            for part, training in flags.items():
                part.training = training and part not in asleep
            values = []
            for seed in range(_DRAWS):
                model.load_state_dict(state)
                seeded(seed)
                values.append(float(replay.loss(model)))
            return sum(values) / len(values)

        try:
            train, judged = loss_without(set()), loss_without(set(flags))
        except (IndexError, KeyError, TypeError, AttributeError, RuntimeError):
            return  # in evaluation mode it gives something else: there is nothing to compare
        start = float(replay.loss(replay.as_trained()))
        one = Probed.Modes(root=replay.capture.root.name, train=train, judged=judged, start=start)
        record.probed.modes.append(one)
        if not math.isfinite(judged - train) or judged - train < 0.2 * max(start - train, 0.2 * abs(train), 1e-12):
            return
        norms: set[nn.Module] = {
            part for part in flags if isinstance(part, _NormBase) and part.running_mean is not None
        }
        if norms and loss_without(norms) - train > 0.5 * (judged - train):
            one.cause, one.culprit = "norm", _path(model, norms)
            one.settled = min(_forgotten(part, record.steps) for part in norms)
            return
        theirs = [part for part in flags if not type(part).__module__.startswith("torch.")]
        for part in theirs[:_SUSPECTS]:
            if loss_without({part}) - train > 0.5 * (judged - train):
                one.culprit = _path(model, {part})
                for each, training in flags.items():
                    each.training = training
                one.cause = "noise" if _noisy(replay, model, part) else "branch"
                break
        one.agree = _agreement(replay, model, flags)


def _path(model: nn.Module, parts: set[nn.Module]) -> str:
    return next((path for path, part in model.named_modules() if part in parts), "")


def _forgotten(norm: Any, steps: int) -> float:
    """How much of the statistics that a norm began with is gone."""
    return 1.0 if norm.momentum is None else 1 - (1 - float(norm.momentum)) ** steps


def _noisy(replay: Replay, model: nn.Module, part: nn.Module) -> bool:
    """Whether a module has nothing to learn and gives something else every time: a dropout of somebody's own."""
    if any(True for _ in part.parameters()) or any(part.children()):
        return False
    inputs: list[tuple[Any, ...]] = []
    hook = part.register_forward_pre_hook(lambda _, args: inputs.append(args))
    replay.output(model)
    hook.remove()
    if not inputs:
        return False
    outputs = []
    for seed in (0, 1):
        seeded(seed)
        outputs.append(next(answers(part(*inputs[0])), None))
    one, other = outputs
    return one is not None and other is not None and one.shape == other.shape and not torch.equal(one, other)


def _agreement(replay: Replay, model: nn.Module, flags: dict[nn.Module, bool]) -> float:
    """How much what it says in one mode is a rescaling of what it says in the other."""
    both: list[Tensor] = []
    for training in (True, False):
        for part, was in flags.items():
            part.training = was and training
        seeded()
        answer = first(replay.output(model))
        if answer is None:
            return 0.0
        both.append(answer.float().flatten())
    if both[0].shape != both[1].shape or len(both[0]) < 3:
        return 0.0
    correlation = float(torch.corrcoef(torch.stack(both))[0, 1])
    return correlation if math.isfinite(correlation) else 0.0
