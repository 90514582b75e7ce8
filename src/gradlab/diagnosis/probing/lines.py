"""On which lines of the user's model its operations are."""

from __future__ import annotations

import re

import torch

from gradlab.diagnosis.probing.replay import Replay, answers, seeded
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.watching import graph
from gradlab.diagnosis.watching.sites import users_site

_TOLD = ("Softmax", "LogSoftmax", "View", "UnsafeView", "_UnsafeView", "ReshapeAlias")
_FRAME = re.compile(r'File "(.+?)", line (\d+)')


def lines(record: Record, replay: Replay, deadline: float) -> None:
    """Run a copy once more while autograd notes where each operation was called."""
    before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        seeded()
        outputs = list(answers(replay.output(replay.as_trained())))
    finally:
        torch.autograd.set_detect_anomaly(*before)
    for output in outputs:
        for node in graph.nodes_of(output):
            name = graph.short(node)
            if name not in _TOLD:
                continue
            frames = _FRAME.findall("".join(node.metadata.get("traceback_", ())))
            site = next((site for file, line in reversed(frames) if (site := users_site(file, int(line)))), None)
            if site is not None:
                record.probed.lines.setdefault((name, graph.shape_of(node), graph.axis(node)), site)
