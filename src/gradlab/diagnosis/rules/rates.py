"""Steps that are too large, too small, or have become nothing."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.finding import Spot
from gradlab.diagnosis.progress import HALF, NEARLY_ALL, falling, left, stuck
from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, course, creation
from gradlab.diagnosis.series import median
from gradlab.wording import number

LONG = 0.3
"""Trainings at rates that work change no weight by more than about a third of its size in their first steps."""
_MOVED = 0.05
_SHORT = 3e-4  # of a weight's size: a step of a third of what is usual
_ABOVE = 1.2  # times a constant's loss
_STEPS = 20  # fewer have not had the time


def _jumps(parameter: Parameter) -> list[float]:
    """Updates of the looks, relative to the weight or, if that is larger, to the size that sound first weights have:
    what begins at zero or next to it grows by more than its size in its first steps, and rightly so."""
    inputs = math.prod(parameter.shape[1:]) if len(parameter.shape) > 1 else 1
    sound = 0.5 * math.sqrt(parameter.size / max(1, inputs))
    steps = zip(parameter.update.values, parameter.weight.values, strict=False)
    return [ratio * size / max(size, sound) for ratio, size in steps if math.isfinite(ratio)]


def _early(parameter: Parameter) -> float:
    """The update of the first looks."""
    return _or_zero(median(_jumps(parameter)[:6]))


def _later(parameter: Parameter) -> float:
    """A typical update after them."""
    return _or_zero(median(_jumps(parameter)[2:]))


def _or_zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _rate(record: Record) -> tuple[Spot, float]:
    """The optimiser that steps most, and its largest rate."""
    optimizer = record.optimizer
    return (creation(optimizer), optimizer.rate.largest) if optimizer else (Spot("the update"), math.nan)


def _one_digit(rate: float) -> float:
    return float(f"{rate:.0e}")


@Rule(
    slug="lr_too_high",
    title="the learning rate is far too high",
    meaning="A step that changes a weight by a large part of its size jumps over what it should descend into.",
    evidence=(
        "In the first steps {weight} changed by {ratio:.0%} of its size in each; the loss began at {first}, reached "
        "{largest} and ended at {end}."
    ),
    remedy="lr={suggested:g}  # now {rate:g}",
    follows=(
        "missing_zero_grad unscaled_accumulation unnormalized_input init_too_large exploding_gradient "
        "weight_decay_too_strong target_broadcast double_log rate_not_positive uphill_steps target_scale"
    ),
)
def lr_too_high(record: Record) -> Iterator[Case]:
    loss = record.main
    weights = [p for p in record.trained_weights() if p.update]
    if loss is None or not weights or record.steps < _STEPS or not stuck(record):
        return
    if not math.isfinite(loss.values.first):  # no step had been taken
        return
    worst = max(weights, key=_early)
    ratio = _early(worst)
    if loss.not_finite is not None or loss.values.largest > 10 * max(loss.values.first, 1e-12):
        # It has shot up: the growth may have taken some steps.
        worst = max(weights, key=lambda p: max(_jumps(p), default=0.0))
        ratio = max(ratio, *_jumps(worst), 0.0)
    # A loss that falls, and is no number in the next step, has met a root or a logarithm of zero: no rate mends that.
    sudden = loss.not_finite is not None and loss.values.largest <= 3 * loss.values.first and not record.logged
    if not ratio > (10 if sudden else LONG):
        return
    where, rate = _rate(record)
    yield Case(
        ("error", min(0.95, 0.7 + 0.1 * math.log10(ratio / 0.1))),
        where,
        worst.name,
        since=loss.values.steps[0],
        series=loss.values,
        remedy="" if math.isfinite(rate) else "divide the rate by 10 or more",
        weight=worst.name,
        ratio=ratio,
        first=loss.values.first,
        largest=loss.values.largest,
        end=math.nan if loss.not_finite is not None else loss.end,
        rate=rate,
        suggested=_one_digit(rate * min(0.1, 0.01 / ratio)),
    )


@Rule(
    slug="lr_too_low",
    title="the learning rate is far too low",
    meaning="At this pace the weights hardly leave their first values in the whole training.",
    evidence=(
        "Even {weight}, which moves most, changes by {ratio:.1e} of its size in a step: {all_steps:.2%} in all "
        "{steps:,}. The loss went from {start} to {end}."
    ),
    remedy="lr={suggested:g}  # now {rate:g}",
    follows=(
        "clipping_always_binds lr_decayed_to_zero fp16_underflow vanishing_gradient dead_relu init_too_small "
        "step_before_backward broken_graph double_log init_too_large unnormalized_input rate_not_positive "
        "softmax_of_one target_scale"
    ),
)
def lr_too_low(record: Record) -> Iterator[Case]:
    loss = record.main
    weights = [p for p in record.trained_weights() if len(p.update) >= LOOKS]
    if loss is None or not weights or record.steps < _STEPS or loss.not_finite is not None:
        return
    fastest = max(weights, key=_later)
    ratio = _later(fastest)
    # All steps together, were they in one direction, must be able to change a weight by a twentieth.
    if not (left(record) > NEARLY_ALL and loss.end > 0.7 * loss.start):
        return
    # Short steps that go the right way all the time, and have not even come to what a constant would give.
    short = 0 < ratio < _SHORT and left(record) > _ABOVE and falling(loss.values)
    if not (0 < ratio * record.steps < _MOVED or (short and loss.values.largest < 1.3 * loss.start)):
        return
    gradients = [_or_zero(p.gradient.median()) for p in weights if p.gradient]
    if gradients and max(gradients) < 1e-7:
        return
    where, rate = _rate(record)
    yield Case(
        ("error", min(0.93, max(0.6, 0.75 - 0.06 * math.log10(ratio * record.steps / _MOVED)))),
        where,
        fastest.name,
        series=loss.values,
        weight=fastest.name,
        ratio=ratio,
        all_steps=ratio * record.steps,
        steps=record.steps,
        rate=rate,
        suggested=_one_digit(rate * max(10.0, 0.002 / ratio)),
        **course(loss),
    )


@Rule(
    slug="lr_decayed_to_zero",
    title="the schedule takes the learning rate to nothing early on",
    meaning="What is left of the training changes nothing: the schedule runs in another unit than was meant.",
    evidence=(
        "The rate was {largest:g} at step {peak}, {low_rate:.1e} at step {low} and {last:.1e} at the end: {idle:.0%} "
        "of the steps changed next to nothing, at a loss of {end}."
    ),
    remedy="scheduler.step()  # once per epoch, not per batch; or a gamma / T_max counted in steps",
    follows="rate_not_positive",
)
def lr_decayed_to_zero(record: Record) -> Iterator[Case]:
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
        share = left(record)
        yield Case(
            ("error", 0.94) if share > HALF else ("warning" if share > 0.1 else "note", 0.7),
            creation(optimizer),
            since=rate.steps[low],
            series=rate,
            largest=rate.largest,
            peak=rate.steps[peak],
            low_rate=rate.values[low],
            low=rate.steps[low],
            last=rate.last,
            idle=1 - low / len(rate),
            end=loss.end,
        )


@Rule(
    slug="better_rate",
    title="another learning rate gets further",
    meaning="A few steps on one batch from the first weights: a hint at the order of magnitude, not a measurement.",
    evidence=(
        "On one batch, {steps} steps from {batch_start} {reached} at the script's rate of {rate:g}, and to {lowest} at "
        "{best:.2g}, the best of {rates} rates."
    ),
    remedy="lr={suggested:g}  # now {rate:g}",
    follows="lr_too_high lr_too_low",
)
def better_rate(record: Record) -> Iterator[Case]:
    probed = record.probed.rates
    if record.probed.rate is None:
        return
    own, start, steps = record.probed.rate
    # Of rates that come equally far the smallest: one batch alone bears larger steps than all of them.
    lowest = min(probed.values())
    best = min(rate for rate, loss in probed.items() if loss <= lowest + 0.05 * max(start - lowest, 0.0))
    now = probed.get(own, math.nan)
    gained, ours = start - probed[best], start - now
    # Twice as far at three times the rate is how it always is at the first steps.
    if not gained > 0.3 * abs(start) or ours > 0.3 * gained or abs(math.log10(best / own)) < 0.9:
        return
    yield Case(
        ("note", 0.4),
        "the optimiser",
        steps=steps,
        batch_start=start,
        reached=f"got to {number(now)}" if math.isfinite(now) else "shot up",
        rate=own,
        lowest=probed[best],
        best=best,
        rates=len(probed),
        suggested=_one_digit(best),
    )
