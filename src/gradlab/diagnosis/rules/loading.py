"""A training that waits for its data."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import Case, Rule


@Rule(
    slug="slow_data_loader",
    title="the training waits for its data",
    meaning="Most of the time goes into making batches, while the model stands idle.",
    evidence=(
        "A typical step waits {waited:.0f} ms for its batch and works {worked:.1f} ms: {share:.0%} of the time is "
        "waiting."
    ),
    remedy="DataLoader(…, num_workers=4, persistent_workers=True)  # or prepare the data once, before the loop",
)
def slow_data_loader(record: Record) -> Iterator[Case]:
    waited, worked = record.waited.median(), record.worked.median()
    if len(record.waited) < 20 or not math.isfinite(waited) or not math.isfinite(worked):
        return
    # Between steps there may also be an environment, or a picture that is drawn: a loader's own time is known.
    if record.loader_seconds < 0.5 * sum(record.waited.finite()):
        return
    # Below a few milliseconds it is the loop's own Python, not a dataset that is slow.
    if waited < 5e-3 or waited < 2 * worked:
        return
    starved, share = waited > 0.02 and waited > 4 * worked, waited / (waited + worked)
    yield Case(
        ("warning", min(0.92, 0.5 + 0.45 * share)) if starved else ("note", 0.4),
        f"between the steps (DataLoader: {record.loader_seconds:.1f} s of {record.seconds:.1f} s)",
        since=record.waited.steps[0],
        series=record.waited,
        waited=waited * 1e3,
        worked=worked * 1e3,
        share=share,
    )
