"""Steps that are too large, too small, or have become nothing."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import left, stuck
from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.diagnosis.series import median
from gradlab.wording import number


def _jumps(parameter: Parameter) -> list[float]:
    """Updates of the looks, relative to the weight or, if that is larger, to the size that sound first weights have:
    what begins at zero or next to it grows by more than its size in its first steps, and rightly so."""
    inputs = math.prod(parameter.shape[1:]) if len(parameter.shape) > 1 else 1
    sound = 0.5 * math.sqrt(parameter.size / max(1, inputs))
    steps = zip(parameter.update.values, parameter.weight.values, strict=False)
    return [ratio * size / max(size, sound) for ratio, size in steps if math.isfinite(ratio)]


def _early(parameter: Parameter) -> float:
    """The update of the first looks."""
    return median(_jumps(parameter)[:6])


def _rate(record: Record) -> tuple[str, float]:
    """The optimiser that steps most, and its largest rate."""
    optimizer = max(record.optimizers, key=lambda o: o.steps, default=None)
    return (
        (f"{optimizer.kind} made at {optimizer.site}", optimizer.rate.largest)
        if optimizer
        else ("the update", math.nan)
    )


@rule(
    "lr_too_high",
    title="the learning rate is far too high",
    meaning="A step that changes a weight by a large part of its size jumps over what it should descend into.",
    follows=(
        "missing_zero_grad",
        "unscaled_accumulation",
        "unnormalized_input",
        "init_too_large",
        "exploding_gradient",
        "weight_decay_too_strong",
        "target_broadcast",
        "double_log",
    ),
)
def lr_too_high(record: Record) -> Iterator[Seen]:
    loss = record.main
    weights = [p for p in record.trained_weights() if p.update]
    if loss is None or not weights or record.steps < 20 or not stuck(record):
        return
    worst = max(weights, key=lambda p: _or_zero(_early(p)))
    ratio = _early(worst)
    if loss.not_finite is not None or loss.values.largest > 10 * max(loss.values.first, 1e-12):
        # It has shot up: the growth may have taken some steps.
        worst = max(weights, key=lambda p: max(_jumps(p), default=0.0))
        ratio = max(_or_zero(ratio), *_jumps(worst), 0.0)
    # Trainings at rates that work change no weight by more than about a third of its size in their first steps.
    if not ratio > 0.3:
        return
    where, rate = _rate(record)
    ends = "nan" if loss.not_finite is not None else number(loss.end)
    yield Seen(
        severity="error",
        confidence=min(0.95, 0.7 + 0.1 * math.log10(ratio / 0.1)),
        where=f"{where}; {worst.name}",
        since=loss.values.steps[0],
        evidence=(
            f"In the first steps {worst.name} changed by {ratio:.0%} of its size in each; the loss began at "
            f"{number(loss.values.first)}, reached {number(loss.values.largest)} and ended at {ends}."
        ),
        fix=f"lr={_round(rate * min(0.1, 0.01 / ratio))}  # now {rate:g}"
        if math.isfinite(rate)
        else "divide the rate by 10 or more",
        series=loss.values,
    )


@rule(
    "lr_too_low",
    title="the learning rate is far too low",
    meaning="At this pace the weights hardly leave their first values in the whole training.",
    follows=(
        "clipping_always_binds",
        "lr_decayed_to_zero",
        "fp16_underflow",
        "vanishing_gradient",
        "dead_relu",
        "init_too_small",
        "step_before_backward",
        "broken_graph",
        "double_log",
        "init_too_large",
        "unnormalized_input",
    ),
)
def lr_too_low(record: Record) -> Iterator[Seen]:
    loss = record.main
    weights = [p for p in record.trained_weights() if len(p.update) >= 5]
    if loss is None or not weights or record.steps < 20 or loss.not_finite is not None:
        return
    fastest = max(weights, key=lambda p: _or_zero(median(_jumps(p)[2:])))
    ratio = median(_jumps(fastest)[2:])
    # All steps together, were they in one direction, must be able to change a weight by a tenth.
    if not 0 < ratio * record.steps < 0.1 or not (left(record) > 0.9 and loss.end > 0.7 * loss.start):
        return
    if all(_or_zero(p.gradient.median()) < 1e-7 for p in weights):
        return
    where, rate = _rate(record)
    yield Seen(
        severity="error",
        confidence=min(0.93, 0.75 - 0.06 * math.log10(ratio * record.steps / 0.1)),
        where=f"{where}; {fastest.name}",
        since=0,
        evidence=(
            f"Even {fastest.name}, which moves most, changes by {ratio:.1e} of its size in a step: "
            f"{ratio * record.steps:.2%} in all "
            f"{record.steps:,}. The loss went from {number(loss.start)} to {number(loss.end)}."
        ),
        fix=f"lr={_round(rate * max(10.0, 0.002 / ratio))}  # now {rate:g}",
        series=loss.values,
    )


@rule(
    "lr_decayed_to_zero",
    title="the schedule takes the learning rate to nothing early on",
    meaning="What is left of the training changes nothing: the schedule runs in another unit than was meant.",
)
def lr_decayed_to_zero(record: Record) -> Iterator[Seen]:
    loss = record.main
    for optimizer in record.optimizers:
        rate = optimizer.rate
        if loss is None or len(rate) < 20 or rate.largest <= 0:
            continue
        peak = rate.values.index(rate.largest)
        low = next((i for i in range(peak, len(rate)) if rate.values[i] < 1e-3 * rate.largest), None)
        # Cosine, linear and one-cycle schedules end near nothing; only a long idle part is a mistake.
        if low is None or low > 0.6 * len(rate) or any(v > 1e-2 * rate.largest for v in rate.values[low:]):
            continue
        idle = 1 - low / len(rate)
        unlearnt = left(record) > 0.5
        yield Seen(
            severity="error" if unlearnt else "warning" if left(record) > 0.1 else "note",
            confidence=0.94 if unlearnt else 0.7,
            where=f"{optimizer.kind} made at {optimizer.site}",
            since=rate.steps[low],
            evidence=(
                f"The rate was {rate.largest:g} at step {rate.steps[peak]}, {rate.values[low]:.1e} at step "
                f"{rate.steps[low]} and "
                f"{rate.last:.1e} at the end: {idle:.0%} of the steps changed next to nothing, at a loss of "
                f"{number(loss.end)}."
            ),
            fix="scheduler.step()  # once per epoch, not per batch; or a gamma / T_max counted in steps",
            series=rate,
        )


def _or_zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _round(rate: float) -> str:
    """One digit: 0.003."""
    return f"{float(f'{rate:.0e}'):g}"
