"""Signals and gradients on their way: dead, saturated, vanished, exploded, or not numbers any more."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import HALF, NEARLY_ALL, left, poor, stuck
from gradlab.diagnosis.record import NotFinite, Record
from gradlab.diagnosis.rules.base import LOOKS, TINY, Case, Grade, Rule, at, creation, named
from gradlab.diagnosis.rules.rates import LONG
from gradlab.diagnosis.series import Series

SATURATED = 0.5
"""The share of units at their rails that is no accident."""
_POOR = 0.6  # of the loss is left
_CAUSES = "lr_too_high unnormalized_input init_too_large missing_zero_grad unscaled_accumulation constant_init"


@Rule(
    slug="dead_relu",
    title="most units of a layer are dead",
    meaning="A unit that is zero for every example gets no gradient and never comes back.",
    evidence=(
        "{share:.0%} of the {units} units of {layer} were zero for every row of the last looks; in the first step "
        "{first:.0%} were."
    ),
    remedy="nn.init.zeros_(layer.bias)  # biases at 0 and He's weights; else a lower rate, or nn.LeakyReLU()",
    topic="activation.relu",
    follows=f"{_CAUSES} weight_decay_too_strong saturated_init nan_loss target_scale",
)
def dead_relu(record: Record) -> Iterator[Case]:
    layers = [a for a in record.activations if a.kind == "relu" and a.hidden and len(a.dead) >= LOOKS and a.units > 1]
    worst = max(layers, key=lambda a: a.dead.tail(), default=None)
    if worst is None or not worst.dead.tail() > 0.5:
        return
    share = worst.dead.tail()
    # Wide layers train well with a third of their units dead; with all but a tenth dead the layer is lost.
    lost: Grade = ("warning" if share > 0.9 and left(record) > 0.2 else "note", 0.6)
    yield Case(
        ("error", 0.6 + 0.33 * share) if poor(record, _POOR) else lost,
        worst.where,
        since=worst.dead.since(0.5),
        series=worst.dead,
        share=share,
        units=worst.units,
        layer=worst.where,
        first=worst.dead.first,
    )


@Rule(
    slug="saturated_activation",
    title="units have become saturated",
    meaning="At the rails of a tanh or sigmoid the slope is next to zero: hardly any gradient passes.",
    evidence="{first:.0%} of {layer} lay at its rails at first, {last:.0%} at the end.",
    remedy="a lower rate, and standardised inputs",
    topic="activation.tanh",
    follows=f"{_CAUSES} saturated_init exploding_gradient nan_loss",
)
def saturated_activation(record: Record) -> Iterator[Case]:
    if not stuck(record):
        return
    for one in record.activations:
        first, last = one.saturated.first, one.saturated.tail()
        if one.hidden and len(one.saturated) >= LOOKS and first <= SATURATED and last > 0.8:
            since, series = one.saturated.since(0.8), one.saturated
            yield Case(
                ("warning", 0.65), one.where, since=since, series=series, layer=one.where, first=first, last=last
            )
            return


@Rule(
    slug="vanishing_gradient",
    title="the gradient vanishes on its way to the first layers",
    meaning="Each layer passes on a fraction of it: the first ones learn nothing, and the last ones learn from noise.",
    evidence=(
        "A typical element of the gradient is {first:.1e} in {weight} and {last:.1e} near the loss ({ratio} times as "
        "much)."
    ),
    remedy="nn.ReLU() instead of sigmoids, residual connections (x + f(x)), or normalisation between the layers",
    follows=(
        "init_too_small dead_relu weight_decay_too_strong constant_init fp16_underflow lr_too_high batch_mixing "
        "unshuffled_data softmax_of_one answer_after_padding"
    ),
)
def vanishing_gradient(record: Record) -> Iterator[Case]:
    over_time = list(_over_time(record))
    yield from over_time
    weights = [p for p in record.trained_weights() if len(p.gradient) >= LOOKS and "Embedding" not in p.owner]
    if over_time or len(weights) < 3 or not poor(record, HALF):
        return
    sizes = [p.gradient.median() / math.sqrt(p.size) for p in weights]
    # All of the first ones: beside a path on which the gradient arrives, single weights (of queries, of gates) may get
    # next to nothing for another reason.
    early, third = max(1, len(sizes) // 6), max(1, len(sizes) // 3)
    first, last = max(sizes[:early]), max(sizes[-third:])
    # A thousandth between the ends: a factor of four in each of five layers, as sigmoids give.
    if not (last > 0 and first < 1e-3 * last and last > 1e-9):
        return
    if not (poor(record, NEARLY_ALL) or first < 1e-5 * last):
        return
    # What arrived in the first steps and no longer does is lost by what the steps did, not by the depth.
    at_first = [p.gradient.head(3) / math.sqrt(p.size) for p in weights]
    if max(at_first[:early]) > 1e-3 * max(at_first[-third:]):
        return
    one, ratio = weights[sizes.index(first)], last / max(first, TINY)
    yield Case(
        ("error", min(0.93, 0.75 + 0.05 * math.log10(1e-3 * ratio))),
        one.name,
        series=one.gradient,
        first=first,
        weight=one.name,
        last=last,
        ratio=ratio,
    )


def _over_time(record: Record) -> Iterator[Case]:
    """Of the root where the gradient by the first time steps differs most from that by the last."""
    roots = [(name, series) for name, series in record.recurrent.items() if len(series) >= 8]
    if not roots or not poor(record, NEARLY_ALL):
        return
    name, series = max(roots, key=lambda one: abs(math.log(_ends(one[1]))))
    if 0 <= series.median(0, len(series) // 4) < 1e-4 * series.largest:
        yield Case(
            ("error", 0.92),
            f"{name}, through {len(series)} time steps",
            series=series,
            evidence=(
                "The gradient of the loss by the input is {first:.1e} at the first time step and {largest:.1e} at its "
                "largest: what came early cannot be learnt from."
            ),
            remedy="nn.LSTM(…) or nn.GRU(…) instead of a plain RNN; a shorter way (attention, pooling over time)",
            first=series.first,
            largest=series.largest,
        )


def _ends(series: Series) -> float:
    return max(series.first, TINY) / max(series.largest, TINY)


@Rule(
    slug="exploding_gradient",
    title="the gradient explodes",
    meaning="A step along such a gradient throws the weights far away; what was learnt is lost.",
    evidence=(
        "The gradient's norm was {first} in the first steps, {typical} typically and {largest} at most, at a loss of "
        "{start}."
    ),
    remedy="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # between backward() and step()",
    follows=(
        "unnormalized_input missing_zero_grad unscaled_accumulation init_too_large target_broadcast rate_not_positive "
        "uphill_steps target_scale"
    ),
)
def exploding_gradient(record: Record) -> Iterator[Case]:
    loss, optimizer = record.main, record.optimizer
    if loss is None or optimizer is None or len(optimizer.gradient) < LOOKS or not math.isfinite(loss.values.first):
        return
    norms = optimizer.gradient
    typical, largest, first = norms.median(), max(norms.finite(), default=0.0), norms.head(3)
    # Beside the size of the loss: the slope of a loss of size L over weights of size 1 is of the order of L.
    far = 100 * max(1.0, abs(loss.start) if math.isfinite(loss.start) else 1.0)
    spikes = largest > 1e3 * max(typical, 1e-12) and largest > far
    huge = norms.first > far
    # Where it was of a sound size before the first step, and steps were too long, it is they that made it explode.
    if not huge and any(p.update.median(0, 6) > LONG for p in record.trained_weights() if p.update):
        return
    clipped = any(c.count >= 0.5 * optimizer.steps and not c.by_value for c in record.clippings)
    if not (spikes or huge) or clipped or not poor(record, _POOR):
        return
    yield Case(
        ("error", min(0.93, 0.72 + 0.05 * math.log10(max(largest, first) / far + 1))),
        creation(optimizer),
        since=norms.since(far),
        series=norms,
        first=first,
        typical=typical,
        largest=largest,
        start=loss.start,
    )


@Rule(
    slug="nan_loss",
    title="the loss is not a number any more",
    meaning="NaN and infinity spread through every weight with the next step; nothing after it counts.",
    evidence="{what}",
    remedy="torch.log(x.clamp(min=1e-8))  # guard logarithms, roots and divisions; never mask a whole row",
    follows=(
        f"{_CAUSES} exploding_gradient double_log fp16_underflow rate_not_positive uphill_steps inverted_padding_mask"
    ),
)
def nan_loss(record: Record) -> Iterator[Case]:
    seen, bad = record.not_finite, next((loss for loss in record.losses if loss.not_finite is not None), None)
    if seen is None or bad is None:
        return
    if record.scaler and math.isfinite(bad.end):  # a scaler of the loss skips such steps by design
        return
    earlier = [value for step, value in bad.values if step < seen.step]
    yield Case(
        ("error", 0.95),
        seen.module or seen.where or "the loss",
        at("backward()", bad.site),
        since=seen.step,
        series=bad.values,
        besides="; the loss was {before} before." if earlier else ", in the first step.",
        what=_first_seen(seen),
        step=seen.step,
        before=earlier[-1] if earlier else math.nan,
    )


def _first_seen(seen: NotFinite) -> str:
    if seen.what == "input":
        return f"The input of {seen.where} had NaN or infinity in it"
    if seen.what == "parameter":
        return f"{seen.where} was not finite before the step: an earlier update or gradient was not"
    place = f" in {seen.module}" if seen.module else ""
    return f"{seen.operation or 'An operation'}{place}: {seen.detail or 'the first result that is not finite'}"


@Rule(
    slug="fp16_underflow",
    title="gradients are lost in half precision",
    meaning="float16 has nothing between 6e-8 and zero: small gradients and updates become zero.",
    evidence=(
        "{unchanged} of {weights} weights do not change in a typical step in float16; a typical gradient's norm is "
        "{norm:.1e}, the loss {start}."
    ),
    remedy="scaler = torch.amp.GradScaler(); scaler.scale(loss).backward()  # or bfloat16 / float32",
)
def fp16_underflow(record: Record) -> Iterator[Case]:
    half = [p for p in record.trained_weights() if p.dtype == "float16"]
    if (not half and "float16" not in record.autocast) or record.scaler:
        return
    weights = half or record.trained_weights()
    lost = [p for p in weights if p.update and p.update.median() == 0]
    if not lost or len(lost) < 0.5 * len(weights) or record.main is None:
        return
    yield Case(
        ("error", 0.93),
        named([p.name for p in lost]),
        series=lost[0].gradient,
        unchanged=len(lost),
        weights=len(weights),
        norm=lost[0].gradient.median(),
        start=record.main.start,
    )
