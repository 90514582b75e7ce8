"""First weights that a training cannot start from."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import MOST, constant_loss, flat_for, poor, stuck
from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.rules.base import LOOKS, Case, Grade, Rule, at, course, named
from gradlab.diagnosis.rules.signals import SATURATED

_NOT_BY_FAN = ("Embedding", "EmbeddingBag", "LayerNorm", "BatchNorm1d", "BatchNorm2d", "GroupNorm", "RMSNorm")
_HE = "nn.init.kaiming_normal_(layer.weight)  # "

_FLAT = 0.2  # of the steps: a loss that waits as long before it falls began with weights that tell it little


def _gain(parameter: Parameter) -> float:
    """Standard deviation times the root of the inputs: He's start gives 1.4, PyTorch's own 0.58, Xavier's about 1."""
    shape = parameter.shape
    # A tensor of the user's own is used as (inputs, outputs) as often as not: the smaller side is the safer guess.
    inputs = min(shape) if parameter.owner == "Tensor" and len(shape) == 2 else math.prod(shape[1:])
    return parameter.std * math.sqrt(inputs)


def _maps(record: Record) -> list[Parameter]:
    """Weights of linear maps and convolutions that a loss depends on, as they come."""
    used = [p for p in record.parameters.values() if p.reached and p.requires_grad and not p.loaded]
    maps = [p for p in used if len(p.shape) >= 2 and min(p.shape[:2]) >= 1 and p.owner not in _NOT_BY_FAN]
    return [p for p in maps if math.isfinite(p.std)]


@Rule(
    slug="constant_init",
    title="units of a layer all begin alike",
    meaning="Equal units get equal gradients and stay equal: the layer works as if it had one unit.",
    evidence=(
        "{alike} of {weights} weights began with all rows equal (value {value:g}, deviation {deviation:.1g}), and "
        "their rows were still equal after {steps:,} steps."
    ),
    remedy=f"{_HE}or leave PyTorch's own first weights as they are",
    topic="init.he",
)
def constant_init(record: Record) -> Iterator[Case]:
    weights = [p for p in _maps(record) if p.shape[0] > 1]
    # What begins at zero on purpose (outputs, residual branches, adapters) does not stay equal.
    alike = [p for p in weights if p.rows_equal and p.rows_equal_later]
    if not alike or record.steps < LOOKS:
        return
    yield Case(
        ("error", 0.95),
        named([p.name for p in alike]),
        alike=len(alike),
        weights=len(weights),
        value=alike[0].mean,
        deviation=alike[0].std,
        steps=record.steps,
    )


@Rule(
    slug="init_too_large",
    title="the first weights are far too large",
    meaning=(
        "Signals grow from layer to layer: the first outputs, losses and gradients are huge and have to be unlearnt."
    ),
    evidence=(
        "{weight} began with a standard deviation of {deviation:.3g}, {times:.0f} times that of He's start; the first "
        "loss was {first_loss}"
    ),
    remedy=f"{_HE}std = sqrt(2 / inputs)",
    topic="init.he",
    follows="unnormalized_input",
)
def init_too_large(record: Record) -> Iterator[Case]:
    loss, worst = record.main, max(_maps(record), key=_gain, default=None)
    if loss is None or worst is None or not _gain(worst) > 5:
        return
    first, constant = loss.values.first, constant_loss(record)
    known = math.isfinite(constant)
    harm = stuck(record) or first > (5 * constant if known else 20 * max(loss.end, 1e-3))
    # Of a model without modules little is known; that most of its loss was to be unlearnt tells enough.
    unlearnt = not record.optimizers and first > 5 * max(loss.end, 1e-3)
    rest: Grade = ("warning", 0.75) if unlearnt else ("note", 0.4)
    yield Case(
        ("error", min(0.93, 0.7 + 0.1 * math.log10(_gain(worst) / 1.4))) if harm else rest,
        worst.name,
        series=loss.values,
        besides=", that of a constant prediction is {constant}." if known else ".",
        weight=worst.name,
        deviation=worst.std,
        times=_gain(worst) / math.sqrt(2),
        first_loss=first,
        constant=constant,
    )


@Rule(
    slug="init_too_small",
    title="the first weights are far too small",
    meaning="Signals and gradients shrink in every layer: what reaches the other end is next to nothing.",
    evidence=(
        "{small} of {weights} weights began at less than a twentieth of He's size ({weight}: standard deviation "
        "{deviation:.1e}); the loss went from {start} to {end}, and was flat for {flat:.0%} of the steps at first."
    ),
    remedy=f"{_HE}std = sqrt(2 / inputs)",
    topic="init.he",
)
def init_too_small(record: Record) -> Iterator[Case]:
    weights, loss = _maps(record), record.main
    small = [p for p in weights if 0 < _gain(p) < 0.06 and not p.rows_equal]
    if loss is None or not small or len(small) < 0.5 * len(weights):
        return
    failed, flat = poor(record, MOST), flat_for(loss)
    if not failed and not flat > _FLAT:
        return
    worst = min(small, key=_gain)
    yield Case(
        ("error", 0.92) if failed else ("warning", 0.7),
        named([p.name for p in small]),
        series=loss.values,
        small=len(small),
        weights=len(weights),
        weight=worst.name,
        deviation=worst.std,
        flat=flat,
        **course(loss),
    )


@Rule(
    slug="saturated_init",
    title="units are saturated from the start",
    meaning="At the rails of a tanh or sigmoid the slope is next to zero: hardly any gradient passes.",
    evidence=(
        "{first:.0%} of the outputs of {layer} lay within 1% of the rails of its {kind} in the first step, {last:.0%} "
        "at the end."
    ),
    remedy="nn.init.xavier_normal_(layer.weight)  # and standardised inputs",
    topic="activation.tanh",
    follows="unnormalized_input",
)
def saturated_init(record: Record) -> Iterator[Case]:
    layers = [a for a in record.activations if a.hidden and a.saturated and a.kind in ("tanh", "sigmoid")]
    worst = max(layers, key=lambda a: a.saturated.first, default=None)
    if worst is None or not worst.saturated.first > SATURATED:
        return
    first = worst.saturated.first
    yield Case(
        ("error", 0.6 + 0.35 * first) if poor(record, 0.2) else ("note", 0.5),
        worst.where,
        since=worst.saturated.steps[0],
        series=worst.saturated,
        first=first,
        layer=worst.where,
        kind=worst.kind,
        last=worst.saturated.tail(),
    )


@Rule(
    slug="wrong_initial_loss",
    title="the first loss is not that of a model that knows nothing",
    meaning="Before any step the best guess is all classes alike, or the mean: a higher loss is confidence in nothing.",
    evidence=("The first batch has a loss of {first_loss} before any step; a model that knows nothing has {expected}"),
    remedy="nn.init.zeros_(last.weight)  # or smaller first weights, and standardised inputs and targets",
    topic="loss.cross_entropy",
    follows=(
        "init_too_large unnormalized_input exploding_gradient saturated_init constant_init double_log nan_loss "
        "target_broadcast wrong_loss_axis softmax_before_ce sigmoid_before_bce_logits lr_too_high dead_relu"
    ),
)
def wrong_initial_loss(record: Record) -> Iterator[Case]:
    if record.probed.first_loss is None:
        return
    first, expected, kind = record.probed.first_loss
    if not math.isfinite(first) or not expected > 1e-9:
        return
    times = first / expected
    # Sound first weights give up to twice the loss of knowing nothing, where outputs are as large as their inputs.
    classes = "entropy" in kind or kind == "nll_loss"
    high, low = times > (3 if classes else 5), classes and times < 0.3
    if not high and not low:
        return
    grave = times > (10 if classes else 100) and stuck(record)
    yield Case(
        ("warning", 0.6) if grave else ("note", 0.4),
        at(kind, next((j.site for j in record.loss_calls if j.training and j.kind == kind), None)),
        series=record.main.values if record.main else None,
        besides=", {times:.3g} times less." if high else ".",
        remedy="" if high else "is the label among the inputs? Weights that were trained before explain it too",
        first_loss=first,
        expected=expected,
        times=times,
    )
