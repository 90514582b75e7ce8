"""Signals and gradients on their way: dead, saturated, vanished, exploded, or not numbers any more."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import left, poor, stuck
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.diagnosis.series import Series
from gradlab.wording import number

_CAUSES = (
    "lr_too_high",
    "unnormalized_input",
    "init_too_large",
    "missing_zero_grad",
    "unscaled_accumulation",
    "constant_init",
)


@rule(
    "dead_relu",
    title="most units of a layer are dead",
    meaning="A unit that is zero for every example gets no gradient and never comes back.",
    topic="activation.relu",
    follows=(*_CAUSES, "weight_decay_too_strong", "saturated_init"),
)
def dead_relu(record: Record) -> Iterator[Seen]:
    hit = [a for a in record.activations if a.kind == "relu" and a.hidden and len(a.dead) >= 5 and a.units > 1]
    hit = [a for a in hit if a.dead.tail() > 0.5]
    if not hit:
        return
    worst = max(hit, key=lambda a: a.dead.tail())
    share = worst.dead.tail()
    bad = poor(record, 0.6)
    # Wide layers train well with a third of their units dead; with all but a tenth dead the layer is lost.
    severity = "error" if bad else "warning" if share > 0.9 and left(record) > 0.2 else "note"
    yield Seen(
        severity=severity,  # type: ignore[arg-type]
        confidence=0.6 + 0.33 * share if bad else 0.6,
        where=worst.where,
        since=max(0, worst.dead.since(0.5)),
        evidence=(
            f"{share:.0%} of the {worst.units} units of {worst.where} were zero for every row of the last looks; in "
            "the first step "
            f"{worst.dead.first:.0%} were."
        ),
        fix="nn.init.zeros_(layer.bias)  # biases at 0 and He's weights; else a lower rate, or nn.LeakyReLU()",
        series=worst.dead,
    )


@rule(
    "saturated_activation",
    title="units have become saturated",
    meaning="At the rails of a tanh or sigmoid the slope is next to zero: hardly any gradient passes.",
    topic="activation.tanh",
    follows=(*_CAUSES, "saturated_init", "exploding_gradient"),
)
def saturated_activation(record: Record) -> Iterator[Seen]:
    if not stuck(record):
        return
    for one in record.activations:
        if one.hidden and len(one.saturated) >= 5 and one.saturated.first <= 0.5 and one.saturated.tail() > 0.8:
            yield Seen(
                severity="warning",
                confidence=0.65,
                where=one.where,
                since=max(0, one.saturated.since(0.8)),
                evidence=(
                    f"{one.saturated.first:.0%} of {one.where} lay at its rails at first, "
                    f"{one.saturated.tail():.0%} at the end."
                ),
                fix="a lower rate, and standardised inputs",
                series=one.saturated,
            )
            return


@rule(
    "vanishing_gradient",
    title="the gradient vanishes on its way to the first layers",
    meaning="Each layer passes on a fraction of it: the first ones learn nothing, and the last ones learn from noise.",
    follows=(
        "init_too_small",
        "dead_relu",
        "weight_decay_too_strong",
        "constant_init",
        "fp16_underflow",
        "lr_too_high",
    ),
)
def vanishing_gradient(record: Record) -> Iterator[Seen]:
    over = _over_time(record)
    if over is not None and poor(record, 0.9):
        name, series = over
        largest = series.largest
        if 0 <= series.median(0, len(series) // 4) < 1e-4 * largest:
            yield Seen(
                severity="error",
                confidence=0.92,
                where=f"{name}, through {len(series)} time steps",
                since=0,
                evidence=(
                    f"The gradient of the loss by the input is {series.first:.1e} at the first time step and "
                    f"{largest:.1e} at its largest: "
                    "what came early cannot be learnt from."
                ),
                fix="nn.LSTM(…) or nn.GRU(…) instead of a plain RNN; a shorter way (attention, pooling over time)",
                series=series,
            )
            return
    weights = [
        p for p in record.trained_weights() if len(p.gradient) >= 5 and p.owner not in ("Embedding", "EmbeddingBag")
    ]
    if len(weights) < 3 or not poor(record, 0.5):
        return
    sizes = [p.gradient.median() / math.sqrt(p.size) for p in weights]
    first, last = min(sizes[: max(1, len(sizes) // 3)]), max(sizes[-max(1, len(sizes) // 3) :])
    # A thousandth between the ends: a factor of four in each of five layers, as sigmoids give.
    if not (last > 0 and first < 1e-3 * last and last > 1e-9):
        return
    if not (poor(record, 0.9) or first < 1e-5 * last):
        return
    one = weights[sizes.index(first)]
    yield Seen(
        severity="error",
        confidence=min(0.93, 0.75 + 0.05 * math.log10(1e-3 * last / max(first, 1e-30))),
        where=one.name,
        since=0,
        evidence=(
            f"A typical element of the gradient is {first:.1e} in {one.name} and {last:.1e} near the loss "
            f"({number(last / max(first, 1e-30))} times as much)."
        ),
        fix="nn.ReLU() instead of sigmoids, residual connections (x + f(x)), or normalisation between the layers",
        series=one.gradient,
    )


def _over_time(record: Record) -> tuple[str, Series] | None:
    """The gradient by time steps, of the root where the ends differ most."""
    found = [(name, series) for name, series in record.recurrent.items() if len(series) >= 8]
    return max(
        found, key=lambda one: abs(math.log(max(one[1].first, 1e-30) / max(one[1].largest, 1e-30))), default=None
    )


@rule(
    "exploding_gradient",
    title="the gradient explodes",
    meaning="A step along such a gradient throws the weights far away; what was learnt is lost.",
    follows=("unnormalized_input", "missing_zero_grad", "unscaled_accumulation", "init_too_large", "target_broadcast"),
)
def exploding_gradient(record: Record) -> Iterator[Seen]:
    loss = record.main
    optimizer = max(record.optimizers, key=lambda o: o.steps, default=None)
    if loss is None or optimizer is None or len(optimizer.gradient) < 5:
        return
    norms = optimizer.gradient
    finite = norms.finite()
    typical, largest, first = norms.median(), max(finite, default=0.0), norms.head(3)
    # Beside the size of the loss: the slope of a loss of size L over weights of size 1 is of the order of L.
    scale = max(1.0, abs(loss.start) if math.isfinite(loss.start) else 1.0)
    spikes = largest > 1e3 * max(typical, 1e-12) and largest > 100 * scale
    huge = norms.first > 100 * scale
    # Where it was of a sound size before the first step, and steps were too long, it is they that made it explode.
    if not huge and any(p.update.median(0, 6) > 0.3 for p in record.trained_weights() if p.update):
        return
    bound = any(c.count >= 0.5 * optimizer.steps and not c.by_value for c in record.clippings)
    bad = poor(record, 0.6)
    if not (spikes or huge) or bound or not bad:
        return
    yield Seen(
        severity="error",
        confidence=min(0.93, 0.72 + 0.05 * math.log10(max(largest, first) / (100 * scale) + 1)),
        where=f"{optimizer.kind} made at {optimizer.site}",
        since=norms.since(100 * scale) if norms.since(100 * scale) >= 0 else 0,
        evidence=(
            f"The gradient's norm was {number(first)} in the first steps, {number(typical)} typically and "
            f"{number(largest)} at most, "
            f"at a loss of {number(loss.start)}."
        ),
        fix="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # between backward() and step()",
        series=norms,
    )


@rule(
    "nan_loss",
    title="the loss is not a number any more",
    meaning="NaN and infinity spread through every weight with the next step; nothing after it counts.",
    follows=(*_CAUSES, "exploding_gradient", "double_log", "fp16_underflow"),
)
def nan_loss(record: Record) -> Iterator[Seen]:
    seen, bad = record.not_finite, next((loss for loss in record.losses if loss.not_finite is not None), None)
    if seen is None or bad is None:
        return
    if record.scaler and math.isfinite(bad.end):  # a scaler of the loss skips such steps by design
        return
    place = f" in {seen.module}" if seen.module else ""
    earlier = [value for step, value in bad.values if step < seen.step]
    told = {
        "input": f"The input of {seen.where} had NaN or infinity in it",
        "parameter": f"{seen.where} was not finite before the step: an earlier update or gradient was not",
        "loss": f"{seen.operation or 'An operation'}{place}: {seen.detail or 'the first result that is not finite'}",
    }[seen.what]
    yield Seen(
        severity="error",
        confidence=0.95,
        where=f"{seen.module or seen.where or 'the loss'}; backward() at {bad.site}",
        since=seen.step,
        evidence=(f"{told}; the loss was {number(earlier[-1])} before." if earlier else f"{told}, in the first step."),
        fix="torch.log(x.clamp(min=1e-8))  # guard logarithms, roots and divisions; never mask a whole row",
        series=bad.values,
    )


@rule(
    "fp16_underflow",
    title="gradients are lost in half precision",
    meaning="float16 has nothing between 6e-8 and zero: small gradients and updates become zero.",
)
def fp16_underflow(record: Record) -> Iterator[Seen]:
    half = [p for p in record.trained_weights() if p.dtype == "float16"]
    if (not half and "float16" not in record.autocast) or record.scaler:
        return
    weights = half or record.trained_weights()
    lost = [p for p in weights if p.update and p.update.median() == 0]
    if len(lost) < 0.5 * len(weights) or record.main is None:
        return
    yield Seen(
        severity="error",
        confidence=0.93,
        where=", ".join(p.name for p in lost[:3]),
        since=0,
        evidence=(
            f"{len(lost)} of {len(weights)} weights do not change in a typical step in float16; a typical gradient's "
            "norm is "
            f"{lost[0].gradient.median():.1e}, the loss {number(record.main.start)}."
        ),
        fix="scaler = torch.amp.GradScaler(); scaler.scale(loss).backward()  # or bfloat16 / float32",
        series=lost[0].gradient,
    )
