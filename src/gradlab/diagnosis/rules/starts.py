"""First weights that a training cannot start from."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.progress import constant_loss, poor, stuck
from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.wording import number

_NOT_BY_FAN = ("Embedding", "EmbeddingBag", "LayerNorm", "BatchNorm1d", "BatchNorm2d", "GroupNorm", "RMSNorm")


def _gain(parameter: Parameter) -> float:
    """Standard deviation times the root of the inputs: He's start gives 1.4, PyTorch's own 0.58, Xavier's about 1."""
    shape = parameter.shape
    # A tensor of the user's own is used as (inputs, outputs) as often as not: the smaller side is the safer guess.
    inputs = min(shape) if parameter.owner == "Tensor" and len(shape) == 2 else math.prod(shape[1:])
    return parameter.std * math.sqrt(inputs)


def _maps(record: Record) -> list[Parameter]:
    """Weights of linear maps and convolutions that a loss depends on, as they come."""
    return [
        p
        for p in record.parameters.values()
        if len(p.shape) >= 2
        and p.reached
        and not p.loaded
        and p.owner not in _NOT_BY_FAN
        and math.isfinite(p.std)
        and min(p.shape[:2]) >= 1
        and p.requires_grad
    ]


@rule(
    "constant_init",
    title="units of a layer all begin alike",
    meaning="Equal units get equal gradients and stay equal: the layer works as if it had one unit.",
    topic="init.he",
)
def constant_init(record: Record) -> Iterator[Seen]:
    weights = [p for p in _maps(record) if p.shape[0] > 1]
    # What begins at zero on purpose (outputs, residual branches, adapters) does not stay equal.
    alike = [p for p in weights if p.rows_equal and p.rows_equal_later and p.reached]
    if not alike or record.steps < 5:
        return
    value = alike[0].mean
    yield Seen(
        severity="error",
        confidence=0.95,
        where=", ".join(p.name for p in alike[:3]),
        since=0,
        evidence=(
            f"{len(alike)} of {len(weights)} weights began with all rows equal (value {value:g}, deviation "
            f"{alike[0].std:.1g}), and their rows were still equal after {record.steps:,} steps."
        ),
        fix="nn.init.kaiming_normal_(layer.weight)  # or leave PyTorch's own first weights as they are",
    )


@rule(
    "init_too_large",
    title="the first weights are far too large",
    meaning=(
        "Signals grow from layer to layer: the first outputs, losses and gradients are huge and have to be unlearnt."
    ),
    topic="init.he",
    follows=("unnormalized_input",),
)
def init_too_large(record: Record) -> Iterator[Seen]:
    loss = record.main
    if loss is None:
        return
    large = [p for p in _maps(record) if _gain(p) > 5]
    if not large:
        return
    worst = max(large, key=_gain)
    constant = constant_loss(record)
    high = loss.values.first > 5 * constant if math.isfinite(constant) else loss.values.first > 20 * max(loss.end, 1e-3)
    harm = stuck(record) or high
    yield Seen(
        severity="error" if harm else "note",
        confidence=min(0.93, 0.7 + 0.1 * math.log10(_gain(worst) / 1.4)) if harm else 0.4,
        where=worst.name,
        since=0,
        evidence=(
            f"{worst.name} began with a standard deviation of {worst.std:.3g}, {_gain(worst) / math.sqrt(2):.0f} "
            "times that of He's "
            f"start; the first loss was {number(loss.values.first)}"
            + (f", that of a constant prediction is {number(constant)}." if math.isfinite(constant) else ".")
        ),
        fix="nn.init.kaiming_normal_(layer.weight)  # std = sqrt(2 / inputs)",
        series=loss.values,
    )


@rule(
    "init_too_small",
    title="the first weights are far too small",
    meaning="Signals and gradients shrink in every layer: what reaches the other end is next to nothing.",
    topic="init.he",
)
def init_too_small(record: Record) -> Iterator[Seen]:
    weights = _maps(record)
    small = [p for p in weights if 0 < _gain(p) < 0.06 and not p.rows_equal]
    if not small or len(small) < 0.5 * len(weights) or not poor(record, 0.8):
        return
    worst = min(small, key=_gain)
    loss = record.main
    yield Seen(
        severity="error",
        confidence=0.92,
        where=", ".join(p.name for p in small[:3]),
        since=0,
        evidence=(
            f"{len(small)} of {len(weights)} weights began at less than a twentieth of He's size ({worst.name}: "
            "standard "
            f"deviation {worst.std:.1e}); the loss went from {number(loss.start) if loss else '–'} to "
            f"{number(loss.end) if loss else '–'}."
        ),
        fix="nn.init.kaiming_normal_(layer.weight)  # std = sqrt(2 / inputs)",
        series=loss.values if loss else None,
    )


@rule(
    "saturated_init",
    title="units are saturated from the start",
    meaning="At the rails of a tanh or sigmoid the slope is next to zero: hardly any gradient passes.",
    topic="activation.tanh",
    follows=("unnormalized_input",),
)
def saturated_init(record: Record) -> Iterator[Seen]:
    hit = [
        a
        for a in record.activations
        if a.hidden and a.saturated and a.saturated.first > 0.5 and a.kind in ("tanh", "sigmoid")
    ]
    if not hit:
        return
    worst = max(hit, key=lambda a: a.saturated.first)
    slow = poor(record, 0.2)
    yield Seen(
        severity="error" if slow else "note",
        confidence=0.6 + 0.35 * worst.saturated.first if slow else 0.5,
        where=worst.where,
        since=worst.saturated.steps[0],
        evidence=(
            f"{worst.saturated.first:.0%} of the outputs of {worst.where} lay within 1% of the rails of its "
            f"{worst.kind} in the first step, "
            f"{worst.saturated.tail():.0%} at the end."
        ),
        fix="nn.init.xavier_normal_(layer.weight)  # and standardised inputs",
        series=worst.saturated,
    )
