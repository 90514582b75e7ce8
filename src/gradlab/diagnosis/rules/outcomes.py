"""What came of it: too well remembered, too little learnt, or nothing."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import MUCH, constant_loss, falling, left, moving_targets, poor, stuck
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import ANY, STEPS, Case, Grade, Rule, at, course
from gradlab.diagnosis.series import Series

_WORSE = 1.2  # times a constant's loss
_BOTTOMLESS = 100  # times the first loss, below zero


@Rule(
    slug="overfitting",
    title="the model learns its training examples by heart",
    meaning="The loss on other examples rises while that of the training examples goes to nothing.",
    evidence=(
        "Evaluated, the loss was {lowest} at step {step} and {last} at the end; that of the training went down to "
        "{train}."
    ),
    remedy=(
        "stop at the best evaluation (early stopping); more data, weight_decay=1e-2, nn.Dropout(0.3), or a smaller "
        "model"
    ),
    topic="regularisation.dropout",
    follows="train_in_eval_mode evaluation_scale same_batch",
)
def overfitting(record: Record) -> Iterator[Case]:
    for trained in (j for j in record.loss_calls if j.training and j.count >= 20):
        for call in (j for j in record.loss_calls if not j.training and j.kind == trained.kind and len(j.values) >= 3):
            steps, values = _by_step(call.values)
            train = trained.values.tail(0.2)
            best = _risen(values, train)
            if best is None or _end(values) - values[best] < 0.02:
                continue
            low, end = values[best], _end(values)
            yield Case(
                _grade(end / low, 0.7, 0.93),
                at("evaluation", call.site),
                since=steps[best],
                series=call.values,
                lowest=low,
                step=steps[best],
                last=values[-1],
                train=train,
            )
            return
    yield from _by_figures(record)


def _by_figures(record: Record) -> Iterator[Case]:
    """Where no function of torch computes the loss of evaluations: by the numbers that the script takes out of them."""
    loss = record.main
    if loss is None or len(record.losses) > 1 or moving_targets(record) or len(loss.values) < 20:
        return
    train = loss.values.tail(0.2)
    for site, series in record.readings.items():
        steps, values = _by_step(series)
        best = _risen(values, train) if len(values) >= 5 else None
        if best is None:
            continue
        low, end = values[best], _end(values)
        # No accuracy rises to more than 1; and what ends worse than a model that knows nothing need not have fallen.
        if not (values[0] > 1.1 * low or end > 1.1 * max(1.0, loss.start)):
            continue
        # It is the same loss if both went down together; an accuracy rises while the loss falls.
        beside = [loss.values.near(step) for step in steps[: best + 1]]
        if not all(b > 0 and 0.4 < v / b < 3 for v, b in zip(values, beside, strict=False)):
            continue
        yield Case(
            _grade(end / low, 0.65, 0.9),
            at("evaluation", site),
            since=steps[best],
            series=series,
            evidence=(
                "The figure of the evaluations was {lowest} at step {step} and {last} at the end; the loss of the "
                "training, which it had followed, went down to {train}."
            ),
            lowest=low,
            step=steps[best],
            last=values[-1],
            train=train,
        )
        return


def _by_step(series: Series) -> tuple[list[int], list[float]]:
    """The mean over the batches of each evaluation."""
    sums: dict[int, list[float]] = {}
    for step, value in series:
        if math.isfinite(value):
            sums.setdefault(step, []).append(value)
    return list(sums), [sum(part) / len(part) for part in sums.values()]


def _risen(values: list[float], train: float) -> int | None:
    """The place of the best evaluation, if those at the end are far worse and the training loss is far below."""
    if len(values) < 3:
        return None
    best = min(range(len(values)), key=values.__getitem__)
    # A tenth more than at its best is normal everywhere; half more, with a training loss far below, is not.
    risen = best < len(values) - 2 and _end(values) >= 1.5 * values[best] and train <= 0.35 * _end(values)
    return best if risen else None


def _end(values: list[float]) -> float:
    return sum(values[-2:]) / 2


def _grade(times: float, base: float, most: float) -> Grade:
    """By how many times of its best an evaluation has become."""
    return "warning" if times < 2 else "error", min(most, base + 0.1 * (times - 1))


@Rule(
    slug="underfitting",
    title="the model is too small for what it should learn",
    meaning="It cannot even learn a single batch by heart, with an optimiser that suits everything.",
    evidence=(
        "A copy with the first weights got one batch from {batch_start} to only {batch_end} in {steps} steps of Adam; "
        "it has {parameters:,} parameters. The training went from {start} to {end}."
    ),
    remedy="wider or more hidden layers; no bottleneck narrower than what the task needs",
    follows=ANY,
)
def underfitting(record: Record) -> Iterator[Case]:
    probed, loss = record.probed.by_heart, record.main
    if probed is None or loss is None or not poor(record, MUCH) or record.steps < STEPS:
        return
    if falling(loss.values, len(loss.values) // 2):  # it has not ended
        return
    start, end, steps = probed
    constant = constant_loss(record)
    # What is not compared with targets of its own (contrast, goals that move) may have no floor to come down to.
    if not math.isfinite(constant) or end < 0.5 * min(start, constant) or steps < 100:
        return
    yield Case(
        ("warning", 0.75),
        *(root.name for root in record.roots[:2]),
        series=loss.values,
        batch_start=start,
        batch_end=end,
        steps=steps,
        parameters=sum(p.size for p in record.parameters.values() if p.optimizer is not None),
        **course(loss),
    )


@Rule(
    slug="no_floor",
    title="the loss falls without end",
    meaning="A part of it has no lowest value, and is all that is learnt: the rest does not count beside it.",
    evidence="The loss went from {start} to {end} in {steps:,} steps: {times:.1e} times its first size, below zero.",
    remedy="look at the signs of the loss's terms: a divergence, a norm or an error must be added, not subtracted",
    follows="scores_in_nll_loss uphill_steps",
)
def no_floor(record: Record) -> Iterator[Case]:
    loss = record.main
    if loss is None or len(record.losses) > 1 or moving_targets(record) or record.logged or len(loss.values) < 20:
        return
    # A density may be far above 1 where data are narrow: its logarithm goes down slowly, and less and less.
    size = max(abs(loss.start), 1.0)
    if not math.isfinite(loss.end) or loss.end > -_BOTTOMLESS * size:
        return
    yield Case(
        ("error", 0.9),
        at("backward()", loss.site),
        since=loss.values.since(-size, above=False),
        series=loss.values,
        steps=record.steps,
        times=-loss.end / size,
        **course(loss),
    )


@Rule(
    slug="no_learning",
    title="the loss does not fall",
    meaning="The training has ended where it began, or where a constant prediction would be.",
    evidence="The loss went from {start} to {end} in {steps:,} steps.",
    remedy="try to learn one small batch by heart first; then look at the labels, the rate and the inputs",
    follows=ANY,
)
def no_learning(record: Record) -> Iterator[Case]:
    loss = record.main
    if loss is None or not stuck(record) or record.steps < 30 or len(record.losses) > 1:
        return
    constant = constant_loss(record)
    # A loss that somebody wrote may be one that need not fall: of a policy, of an energy. One that still falls has not
    # ended, and what has come far on its way may have shot up for a moment.
    known = any(j.training and j.count for j in record.loss_calls)
    flat = known and not falling(loss.values) and not loss.end < 0.8 * loss.start
    # What comes down from where it has exploded to, and is still far above a constant's, has not been on its way.
    flat = flat or (known and math.isfinite(constant) and left(record) > _WORSE)
    yield Case(
        ("warning" if flat else "note", 0.35),
        at("backward()", loss.site),
        series=loss.values,
        besides=" A constant prediction gives {constant}." if math.isfinite(constant) else "",
        steps=record.steps,
        constant=constant,
        **course(loss),
    )
