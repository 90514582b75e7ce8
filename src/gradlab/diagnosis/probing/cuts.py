"""What no loss depends on: was it cut off, or does nobody ask for what it makes?"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gradlab.diagnosis.probing.replay import Replay
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.watching.tensors import tensors_in

_MODULES = 20


def cuts(record: Record, replay: Replay, deadline: float) -> None:
    """Change the weights of modules that no gradient reaches: if the loss's inputs stay the same, they are unused."""
    capture = replay.capture
    start = f"{capture.root.name}."
    lost = [
        p.name.removeprefix(start)
        for p in record.parameters.values()
        if p.name.startswith(start) and p.requires_grad and p.used and not p.reached and not p.changed
    ]
    # Of a root whose whole output is cut off, something outside of it has cut.
    if not lost or not capture.connected:
        return
    model = replay.model()
    known = dict(model.named_parameters())
    with torch.no_grad():
        # Layers that begin at zero would hide what comes before them.
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
        before = _seen(replay, model)
        for module in sorted({name.rpartition(".")[0] for name in lost})[:_MODULES]:
            theirs = {n: known[n] for n in lost if n.rpartition(".")[0] == module and n in known}
            for parameter in theirs.values():
                parameter.add_(torch.randn_like(parameter))
            after = _seen(replay, model)
            if theirs and all(torch.equal(a, b) for a, b in zip(before, after, strict=True)):
                record.probed.unused |= {start + name for name in theirs}
            else:
                record.probed.cut |= {start + name for name in theirs}
            before = after


def _seen(replay: Replay, model: nn.Module) -> list[Tensor]:
    """What of the output the loss was made of, with the same random numbers in every call."""
    torch.manual_seed(0)
    outputs = tensors_in(replay.output(model))
    return [outputs[i] for i in replay.capture.connected]
