"""What holds a training back: decay, dropout and clipping that are far too strong."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import HALF, MOST, MUCH, falling, left, poor
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import LOOKS, STEPS, TINY, Case, Rule, at, course, creation, named


@Rule(
    slug="weight_decay_too_strong",
    title="weight decay is stronger than what is learnt",
    meaning="Each step takes away more than the gradient gives: the weights shrink to nothing.",
    evidence=(
        "The decay's part of a step is {ratio:.2g} times the size of the gradient's; {shrunk} of {weights} weights "
        "shrank to less than a third ({weight} from {norm_at_first} to {norm_at_last})."
    ),
    remedy="weight_decay=1e-4  # now {decay:g}",
    follows="init_too_large",
)
def weight_decay_too_strong(record: Record) -> Iterator[Case]:
    # A deep network may learn steadily while its weights shrink: what it needs of them is learnt beside the decay.
    if record.main is not None and falling(record.main.values, len(record.main.values) // 2):
        return
    for optimizer in record.optimizers:
        weights = [p for p in record.trained_weights() if p.optimizer == optimizer.number and len(p.weight) >= LOOKS]
        if len(optimizer.decay) < LOOKS or not weights:
            continue
        shrunk = [p for p in weights if p.weight.tail() < 0.3 * p.weight.first]
        # At the beginning: weights that have become nothing have nothing left to decay.
        ratio = max(optimizer.decay.median(0, first) for first in (10, max(LOOKS, len(optimizer.decay) // 3)))
        # Where half of the weights are gone and the decay was the stronger from the first step on, nothing else need
        # have failed: what remains (a bias, a wide part) may have learnt a little.
        gone = ratio >= 1 and sum(p.weight.tail() < 0.05 * p.weight.first for p in weights) >= 0.5 * len(weights)
        bad = poor(record, MUCH)
        # A decay that stands apart from the gradient takes nearly all of each step only if it is far too strong.
        most = bad and ratio >= 0.8 and "AdamW" in optimizer.kind and bool(shrunk)
        if ratio < 0.5 or not (bad or gone) or not (most or len(shrunk) >= 0.5 * len(weights)):
            continue
        one = min(shrunk, key=lambda p: p.weight.tail() / max(p.weight.first, TINY))
        yield Case(
            ("error", 0.93),
            creation(optimizer),
            one.name,
            series=one.weight,
            ratio=ratio,
            shrunk=len(shrunk),
            weights=len(weights),
            weight=one.name,
            norm_at_first=one.weight.first,
            norm_at_last=one.weight.tail(),
            decay=optimizer.settings.get("weight_decay", 0.0),
        )


@Rule(
    slug="dropout_too_strong",
    title="dropout leaves too little to learn from",
    meaning="With nearly all units dropped, the training batches are noise and the network cannot even fit them.",
    evidence="{module} drops {p:.0%} of its inputs; the training loss went from {start} to only {end}.",
    remedy="nn.Dropout(p={suggested:.1g})  # p is the share that is dropped; now {p:g}",
    topic="regularisation.dropout",
)
def dropout_too_strong(record: Record) -> Iterator[Case]:
    dropouts = [m for m in record.modules.values() if "Dropout" in m.kind and m.trained >= LOOKS]
    strong = [m for m in dropouts if m.settings.get("p", 0.0) >= 0.7]
    if not strong:
        return
    worst = max(strong, key=lambda m: m.settings["p"])
    p, bad, loss = worst.settings["p"], poor(record, HALF), record.main
    # Of ten units one is left: such a training is judged more strictly.
    if loss is None or (not bad and not (p >= 0.85 and left(record) > 0.2)):
        return
    yield Case(
        ("error" if bad else "warning", 0.7 + 0.25 * p),
        named([m.path for m in strong]),
        series=loss.values,
        module=worst.path,
        p=p,
        suggested=min(0.2, 1 - p),
        **course(loss),
    )


@Rule(
    slug="clipping_always_binds",
    title="clipping cuts every gradient to almost nothing",
    meaning="With the limit far below every norm, all steps have one tiny length, whatever was measured.",
    evidence=(
        "{bound} of {count} calls cut the gradient, typically from a norm of {norm} to {limit:g}: by a factor of {cut}."
    ),
    remedy="clip_grad_norm_(model.parameters(), {suggested:.1g})  # a little above typical norms",
)
def clipping_always_binds(record: Record) -> Iterator[Case]:
    for one in record.clippings:
        norm = one.norm.median()
        cut = norm / max(one.limit, TINY)
        if one.by_value or one.count < 10 or one.bound < 0.95 * one.count or cut < 20:
            continue
        yield Case(
            ("error", 0.93) if poor(record, MOST) else ("note", 0.5),
            at("clip_grad_norm_", one.site),
            since=one.norm.steps[0],
            series=one.norm,
            bound=one.bound,
            count=one.count,
            norm=norm,
            limit=one.limit,
            cut=cut,
            suggested=2 * norm,
        )


@Rule(
    slug="clipping_never_binds",
    title="clipping never does anything",
    meaning="The limit is far above every norm that occurs, so that it would not catch an outlier either.",
    evidence="The limit is {limit:g}; the largest of {count} norms was {norm}.",
    remedy="clip_grad_norm_(model.parameters(), {suggested:.1g})",
)
def clipping_never_binds(record: Record) -> Iterator[Case]:
    for one in record.clippings:
        largest = one.norm.largest
        if not one.by_value and one.count >= STEPS and one.bound == 0 and one.limit > 100 * largest:
            yield Case(
                ("note", 0.6),
                at("clip_grad_norm_", one.site),
                since=one.norm.steps[0],
                series=one.norm,
                limit=one.limit,
                count=one.count,
                norm=largest,
                suggested=2 * largest,
            )
