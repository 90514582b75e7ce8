"""On which lines of the user's model its operations are, and which of its views mix axes whatever the batch."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.diagnosis.probing.replay import Replay, answers, seeded
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.shapes import mixes
from gradlab.diagnosis.watching import graph
from gradlab.diagnosis.watching.sites import users_site

_FRAME = re.compile(r'File "(.+?)", line (\d+)')


def lines(record: Record, replay: Replay, deadline: float) -> None:
    """Run a copy once more while autograd notes where each operation was called."""
    before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        operations = _operations(replay, replay.as_trained(), replay.rows)
    finally:
        torch.autograd.set_detect_anomaly(*before)
    for node in operations:
        name = graph.short(node)
        if name in graph.VIEWED or name in ("Softmax", "LogSoftmax"):
            frames = _frames(node)
            site = next((site for file, line in reversed(frames) if (site := users_site(file, int(line)))), None)
            if site is not None:
                record.probed.lines.setdefault((name, graph.shape_of(node), graph.axis(node)), site)
    views = _views(operations)
    if any(mixes(*view) for view in views):
        # Sizes that are equal by chance, such as those of a batch and of a head, are not with another batch.
        others = _views(_operations(replay, replay.as_trained(), replay.rows - 1))
        makers = (_frames(node)[-1:] for node in operations if graph.short(node) in graph.VIEWED)
        for view, other, maker in zip(views, others, makers, strict=True):
            # The views in torch's own functions are right; as many places as columns may only look like it.
            wrong = mixes(*other) and not (maker and maker[0][0] == torch.nn.functional.__file__)
            record.probed.views[view] = record.probed.views.get(view, False) or wrong


def _frames(node: Any) -> list[tuple[str, str]]:
    """Files and lines of the calls that an operation was made in, the innermost last."""
    return _FRAME.findall("".join(node.metadata.get("traceback_", ())))


def _operations(replay: Replay, model: nn.Module, rows: int) -> list[Any]:
    """The graph of what a model says of the first rows."""

    def pick(tensor: Tensor) -> Tensor:
        axis = next((i for i, size in enumerate(tensor.shape[:2]) if size == replay.rows), None)
        return tensor if axis is None or rows == replay.rows else tensor.narrow(axis, 0, rows)

    seeded()
    args, kwargs = replay.rearranged(pick)
    outputs = answers(replay.output(model, args, kwargs))
    return [node for output in outputs for node in graph.nodes_of(output)]


def _views(operations: list[Any]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    viewed = (node for node in operations if graph.short(node) in graph.VIEWED)
    return [(graph.viewed(node), graph.shape_of(node)) for node in viewed]
