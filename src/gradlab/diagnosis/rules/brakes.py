"""What holds a training back: decay, dropout and clipping that are far too strong."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import left, poor
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.wording import number


@rule(
    "weight_decay_too_strong",
    title="weight decay is stronger than what is learnt",
    meaning="Each step takes away more than the gradient gives: the weights shrink to nothing.",
    follows=("init_too_large",),
)
def weight_decay_too_strong(record: Record) -> Iterator[Seen]:
    for optimizer in record.optimizers:
        weights = [p for p in record.trained_weights() if p.optimizer == optimizer.number and len(p.weight) >= 5]
        if len(optimizer.decay) < 5 or not weights:
            continue
        shrunk = [p for p in weights if p.weight.tail() < 0.3 * p.weight.first]
        # At the beginning: weights that have become nothing have nothing left to decay.
        ratio = max(optimizer.decay.median(0, first) for first in (10, max(5, len(optimizer.decay) // 3)))
        # Where half of the weights are gone and the decay was the stronger from the first step on, nothing else need
        # have failed: what remains (a bias, a wide part) may have learnt a little.
        gone = ratio >= 1 and sum(p.weight.tail() < 0.05 * p.weight.first for p in weights) >= 0.5 * len(weights)
        bad = poor(record, 0.7)
        # A decay that stands apart from the gradient takes nearly all of each step only if it is far too strong.
        most = bad and ratio >= 0.8 and "AdamW" in optimizer.kind and bool(shrunk)
        if ratio < 0.5 or not (bad or gone) or not (most or len(shrunk) >= 0.5 * len(weights)):
            continue
        decay = optimizer.settings.get("weight_decay", 0.0)
        one = min(shrunk, key=lambda p: p.weight.tail() / max(p.weight.first, 1e-30))
        yield Seen(
            severity="error",
            confidence=0.93,
            where=f"{optimizer.kind} made at {optimizer.site}; {one.name}",
            since=0,
            evidence=(
                f"The decay's part of a step is {ratio:.2g} times the size of the gradient's; {len(shrunk)} of "
                f"{len(weights)} weights shrank "
                f"to less than a third ({one.name} from {number(one.weight.first)} to {number(one.weight.tail())})."
            ),
            fix=f"weight_decay=1e-4  # now {decay:g}",
            series=one.weight,
        )


@rule(
    "dropout_too_strong",
    title="dropout leaves too little to learn from",
    meaning="With nearly all units dropped, the training batches are noise and the network cannot even fit them.",
    topic="regularisation.dropout",
)
def dropout_too_strong(record: Record) -> Iterator[Seen]:
    strong = [
        m for m in record.modules.values() if "Dropout" in m.kind and m.settings.get("p", 0.0) >= 0.7 and m.trained >= 5
    ]
    if not strong:
        return
    worst = max(strong, key=lambda m: m.settings["p"])
    bad = poor(record, 0.5)
    # Of ten units one is left: such a training is judged more strictly.
    if not bad and not (worst.settings["p"] >= 0.85 and left(record) > 0.2):
        return
    loss = record.main
    yield Seen(
        severity="error" if bad else "warning",
        confidence=0.7 + 0.25 * worst.settings["p"],
        where=", ".join(m.path for m in strong[:3]),
        since=0,
        evidence=(
            f"{worst.path} drops {worst.settings['p']:.0%} of its inputs; the training loss went from "
            f"{number(loss.start) if loss else '–'} to only {number(loss.end) if loss else '–'}."
        ),
        fix=(
            f"nn.Dropout(p={min(0.2, 1 - worst.settings['p']):.1g})  # p is the share that is dropped; now "
            f"{worst.settings['p']:g}"
        ),
        series=loss.values if loss else None,
    )


@rule(
    "clipping_always_binds",
    title="clipping cuts every gradient to almost nothing",
    meaning="With the limit far below every norm, all steps have one tiny length, whatever was measured.",
)
def clipping_always_binds(record: Record) -> Iterator[Seen]:
    for one in record.clippings:
        if one.by_value or one.count < 10 or one.bound < 0.95 * one.count:
            continue
        cut = one.norm.median() / max(one.limit, 1e-30)
        bad = poor(record, 0.8)
        if cut < 20:
            continue
        yield Seen(
            severity="error" if bad else "note",
            confidence=0.93 if bad else 0.5,
            where=f"clip_grad_norm_ at {one.site}",
            since=one.norm.steps[0],
            evidence=(
                f"{one.bound} of {one.count} calls cut the gradient, typically from a norm of "
                f"{number(one.norm.median())} to {one.limit:g}: "
                f"by a factor of {number(cut)}."
            ),
            fix=f"clip_grad_norm_(model.parameters(), {2 * one.norm.median():.1g})  # a little above typical norms",
            series=one.norm,
        )


@rule(
    "clipping_never_binds",
    title="clipping never does anything",
    meaning="The limit is far above every norm that occurs, so that it would not catch an outlier either.",
)
def clipping_never_binds(record: Record) -> Iterator[Seen]:
    for one in record.clippings:
        if not one.by_value and one.count >= 50 and one.bound == 0 and one.limit > 100 * one.norm.largest:
            yield Seen(
                severity="note",
                confidence=0.6,
                where=f"clip_grad_norm_ at {one.site}",
                since=one.norm.steps[0],
                evidence=(
                    f"The limit is {one.limit:g}; the largest of {one.count} norms was {number(one.norm.largest)}."
                ),
                fix=f"clip_grad_norm_(model.parameters(), {2 * one.norm.largest:.1g})",
                series=one.norm,
            )
