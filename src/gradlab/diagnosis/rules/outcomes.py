"""What came of it: too well remembered, too little learnt, or nothing."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import constant_loss, poor, self_made, stuck
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import ANY, Seen, rule
from gradlab.wording import number


@rule(
    "overfitting",
    title="the model learns its training examples by heart",
    meaning="The loss on other examples rises while that of the training examples goes to nothing.",
    topic="regularisation.dropout",
    follows=("train_in_eval_mode",),
)
def overfitting(record: Record) -> Iterator[Seen]:
    for trained in (j for j in record.judged if j.training and j.count >= 20):
        for judged in (j for j in record.judged if not j.training and j.kind == trained.kind and len(j.values) >= 3):
            steps, values = _by_step(judged.values.steps, judged.values.values)
            if len(values) < 3:
                continue
            best = min(range(len(values)), key=values.__getitem__)
            end, low, train = sum(values[-2:]) / 2, values[best], trained.values.tail(0.2)
            # A tenth more than at its best is normal everywhere; half more, with a training loss far below, is not.
            if best >= len(values) - 2 or end < 1.5 * low or train > 0.35 * end or end - low < 0.02:
                continue
            yield Seen(
                severity="warning" if end < 2 * low else "error",
                confidence=min(0.93, 0.7 + 0.1 * (end / low - 1)),
                where=f"evaluation at {judged.site}",
                since=steps[best],
                evidence=(
                    f"Evaluated, the loss was {number(low)} at step {steps[best]} and {number(end)} at the end; that "
                    "of the training "
                    f"went down to {number(train)}."
                ),
                fix=_FIX,
                series=judged.values,
            )
            return
    yield from _by_figures(record)


def _by_figures(record: Record) -> Iterator[Seen]:
    """Where no function of torch computes the loss of evaluations: by the numbers that the script takes out of them."""
    loss = record.main
    if loss is None or len(record.losses) > 1 or self_made(record) or len(loss.values) < 20:
        return
    train = loss.values.tail(0.2)
    for site, series in record.readings.items():
        steps, values = _by_step(series.steps, series.values)
        if len(values) < 5:
            continue
        best = min(range(len(values)), key=values.__getitem__)
        end, low = sum(values[-2:]) / 2, values[best]
        # No accuracy rises to more than 1; and what ends worse than a model that knows nothing need not have fallen.
        fell = values[0] > 1.1 * low or end > 1.1 * max(1.0, loss.start)
        if best >= len(values) - 2 or end < 1.5 * low or train > 0.35 * end or not fell:
            continue
        # It is the same loss if both went down together; an accuracy rises while the loss falls.
        beside = [loss.values.near(step) for step in steps[: best + 1]]
        if not all(b > 0 and 0.4 < v / b < 3 for v, b in zip(values, beside, strict=False)):
            continue
        yield Seen(
            severity="warning" if end < 2 * low else "error",
            confidence=min(0.9, 0.65 + 0.1 * (end / low - 1)),
            where=f"evaluation at {site}",
            since=steps[best],
            evidence=(
                f"The figure of the evaluations was {number(low)} at step {steps[best]} and {number(end)} at the end; "
                f"the loss of the training, which it had followed, went down to {number(train)}."
            ),
            fix=_FIX,
            series=series,
        )
        return


_FIX = "stop at the best evaluation (early stopping); more data, weight_decay=1e-2, nn.Dropout(0.3), or a smaller model"


def _by_step(steps: list[int], values: list[float]) -> tuple[list[int], list[float]]:
    """The mean over the batches of each evaluation."""
    sums: dict[int, list[float]] = {}
    for step, value in zip(steps, values, strict=True):
        if math.isfinite(value):
            sums.setdefault(step, []).append(value)
    return list(sums), [sum(part) / len(part) for part in sums.values()]


@rule(
    "underfitting",
    title="the model is too small for what it should learn",
    meaning="It cannot even learn a single batch by heart, with an optimiser that suits everything.",
    follows=ANY,
)
def underfitting(record: Record) -> Iterator[Seen]:
    probed, loss = record.probed.by_heart, record.main
    if probed is None or loss is None or not poor(record, 0.7) or record.steps < 50:
        return
    start, end, steps = probed
    constant = constant_loss(record)
    known = min(start, constant) if math.isfinite(constant) else start
    if end < 0.5 * known or steps < 100:
        return
    size = sum(p.size for p in record.parameters.values() if p.optimizer is not None)
    yield Seen(
        severity="warning",
        confidence=0.75,
        where="; ".join(r.name for r in record.roots[:2]),
        since=0,
        evidence=(
            f"A copy with the first weights got one batch from {number(start)} to only {number(end)} in {steps} "
            "steps of Adam; it has "
            f"{number(size)} parameters. The training went from {number(loss.start)} to {number(loss.end)}."
        ),
        fix="wider or more hidden layers; no bottleneck narrower than what the task needs",
        series=loss.values,
    )


@rule(
    "causal_leak",
    title="the model sees what it should predict",
    meaning=(
        "Outputs for a place change with what comes after it: the loss is of copying, and nothing can be generated."
    ),
    topic="attention.scaled_dot",
)
def causal_leak(record: Record) -> Iterator[Seen]:
    change = record.probed.future
    # A causal model gives exactly zero; sums in another order give a few 1e-7.
    if change is None or not change > 1e-5:
        return
    yield Seen(
        severity="error",
        confidence=0.97,
        where="; ".join(r.name for r in record.roots[:1]),
        since=0,
        evidence=(
            f"The targets are the inputs one place later, and outputs of the first half change by {change:.1e} of "
            "their size when only "
            "the second half of the input does."
        ),
        fix="mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)  # or is_causal=True",
    )


@rule(
    "no_learning",
    title="the loss does not fall",
    meaning="The training has ended where it began, or where a constant prediction would be.",
    follows=ANY,
)
def no_learning(record: Record) -> Iterator[Seen]:
    loss = record.main
    if loss is None or not stuck(record) or record.steps < 30 or len(record.losses) > 1:
        return
    constant = constant_loss(record)
    # A loss that somebody wrote may be one that need not fall: of a policy, of an energy.
    known = any(j.training and j.count for j in record.judged)
    beside = f" A constant prediction gives {number(constant)}." if math.isfinite(constant) else ""
    yield Seen(
        severity="warning" if known else "note",
        confidence=0.35,
        where=f"backward() at {loss.site}",
        since=0,
        evidence=f"The loss went from {number(loss.start)} to {number(loss.end)} in {record.steps:,} steps.{beside}",
        fix="try to learn one small batch by heart first; then look at the labels, the rate and the inputs",
        series=loss.values,
    )
