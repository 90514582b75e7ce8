"""A training that waits for its data, or sees only the beginning of it."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import LOOKS, STEPS, Case, Rule, at


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


@Rule(
    slug="same_batch",
    title="every step takes the first batch of the loader",
    meaning="Each step begins the loader anew: the rest of the data is never seen, or rows are drawn at random anew.",
    evidence=(
        "Of {drawn} batches that were drawn from a DataLoader, {first} were the first of a new pass over it{alike}."
    ),
    remedy="for x, y in loader: …  # one pass; next(iter(loader)) begins a new one at each call",
)
def same_batch(record: Record) -> Iterator[Case]:
    first, drawn = record.first_batches, record.first_batches + record.later_batches
    if record.steps < STEPS or first < 0.9 * record.steps or first < 0.9 * drawn:
        return
    calls = [call for call in record.loss_calls if call.training]
    alike = any(len(c.batch_labels) >= LOOKS and all(b == c.batch_labels[0] for b in c.batch_labels) for c in calls)
    same = record.batches_in_order and alike
    yield Case(
        ("error", 0.94) if same else ("note", 0.6),
        at("loss", calls[0].site) if calls else "the training batches",
        first=first,
        drawn=drawn,
        alike=", always with the same labels" if same else "",
    )
