"""What only extra runs on copies tell: `--deep` makes them."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.finding import Severity
from gradlab.diagnosis.progress import adversarial, stuck
from gradlab.diagnosis.record import Probed, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.wording import number

# What a batch in another order or size changes by rounding is a thousand times less.
_MIXED = 1e-3


@rule(
    "batch_mixing",
    title="examples of a batch mix",
    meaning="What the model says of an example depends on which others happen to be beside it.",
)
def batch_mixing(record: Record) -> Iterator[Seen]:
    for mixed in record.probed.mixing:
        if mixed.change < _MIXED or mixed.company == "all":
            continue
        severity, confidence = _how_sure(mixed)
        moved = mixed.order is not None and mixed.order > _MIXED
        yield Seen(
            severity=severity,
            confidence=confidence,
            where=f"{mixed.root}.{mixed.through}" if mixed.through else mixed.root,
            since=0,
            evidence=(
                f"In evaluation mode, {mixed.rows:.0%} of the outputs of {mixed.root} change, by up to "
                f"{mixed.change:.1e} of the largest, when only other rows of the batch do"
                + (f"; in another order of the rows they change by {mixed.order:.1e}." if moved else ".")
                + (f" {mixed.through} takes the first axis, that of the examples, for time." if mixed.through else "")
                + (" Rows come again in other batches." if mixed.company == "new" else "")
                + (f" It may be meant: {mixed.doubt}." if mixed.doubt else "")
            ),
            fix=(
                "batch_first=True  # the inputs are (batch, time, features)"
                if mixed.through
                else "no view, reshape, softmax, mean or recurrence along axis 0; move axes with permute or transpose"
            ),
        )


def _how_sure(mixed: Probed.Mixing) -> tuple[Severity, float]:
    # Nodes of a graph, points of a set and moments of a series belong together: they always come together.
    if mixed.doubt or mixed.company != "new" or mixed.order is None:
        return "note", 0.3
    # Attention, contrast and statistics across a batch do not care for its order; what does is a slip of an axis. That
    # of a few rows at a border only is a neighbour taken on purpose.
    if mixed.order > _MIXED and mixed.rows >= 0.5:
        return "error", min(0.95, 0.9 + 0.02 * math.log10(mixed.order / _MIXED))
    return ("warning", 0.75) if mixed.through else ("note", 0.4)


@rule(
    "train_eval_gap",
    title="evaluation mode undoes what was learnt",
    meaning="The model that is evaluated is not the one that was trained: a layer does something else in each mode.",
    topic="norm.batch",
    follows=(
        "batchnorm_tiny_batch",
        "unshuffled_data",
        "train_in_eval_mode",
        "lr_too_high",
        "nan_loss",
        "gan_imbalance",
        "unnormalized_input",
        "exploding_gradient",
    ),
)
def train_eval_gap(record: Record) -> Iterator[Seen]:
    for modes in record.probed.modes:
        learnt = modes.start - modes.train
        # Nothing learnt is nothing to lose, and dropout makes training mode the worse one.
        if not learnt > 0.2 * abs(modes.start) or not modes.judged > 1.5 * modes.train:
            continue
        lost = (modes.judged - modes.train) / learnt
        if lost < 0.3 or (modes.cause not in ("norm", "noise") and modes.agree > 0.9):
            continue
        # Models may act otherwise in evaluation on purpose, as those that are fed their own words do; and running
        # statistics lag behind weights that move fast. Noise that is scaled wrongly has no such excuse.
        failed = modes.cause == "norm" and lost > 0.9 and modes.settled > 0.99 and _judged_badly(record, modes)
        grave = not adversarial(record) and (failed or (modes.cause == "noise" and lost > 0.5))
        yield Seen(
            severity="warning" if grave else "note",
            confidence=min(0.85, 0.6 + 0.1 * lost) if grave else 0.4,
            where=".".join(filter(None, (modes.root, modes.culprit))),
            since=0,
            evidence=(
                f"With the weights of the end, one training batch has a loss of {number(modes.train)} in training mode "
                f"and {number(modes.judged)} in evaluation mode; before any step it was {number(modes.start)}."
                + (
                    f" The mode of {'batch norm' if modes.cause == 'norm' else modes.culprit} alone makes most of it."
                    if modes.cause
                    else ""
                )
                + (f" {modes.settled:.0%} of its first statistics are forgotten." if modes.settled < 0.99 else "")
            ),
            fix=_fix(modes),
        )


def _judged_badly(record: Record, modes: Probed.Modes) -> bool:
    """Whether the script's own evaluation has come out no better than the start."""
    found = [j.values.tail() for j in record.judged if not j.training and len(j.values) >= 2]
    return bool(found) and min(found) > 0.8 * modes.start


def _fix(modes: Probed.Modes) -> str:
    if modes.cause == "noise":
        return "x * mask / (1 - p)  # scaled while training, so that evaluation needs no change; or nn.Dropout(p)"
    if modes.cause == "norm":
        return "nn.BatchNorm1d(n, momentum=0.1)  # larger, to follow sooner; or a smaller rate towards the end"
    return "look at what the model does only `if self.training`"


@rule(
    "wrong_initial_loss",
    title="the first loss is not that of a model that knows nothing",
    meaning="Before any step the best guess is all classes alike, or the mean: a higher loss is confidence in nothing.",
    topic="loss.cross_entropy",
    follows=(
        "init_too_large",
        "unnormalized_input",
        "exploding_gradient",
        "saturated_init",
        "constant_init",
        "double_log",
        "nan_loss",
        "target_broadcast",
        "wrong_loss_axis",
        "softmax_before_ce",
        "sigmoid_before_bce_logits",
        "lr_too_high",
        "dead_relu",
    ),
)
def wrong_initial_loss(record: Record) -> Iterator[Seen]:
    if record.probed.first_loss is None:
        return
    seen, expected, kind = record.probed.first_loss
    if not math.isfinite(seen) or not expected > 1e-9:
        return
    times = seen / expected
    # Sound first weights give up to twice the loss of knowing nothing, where outputs are as large as their inputs.
    classes = "entropy" in kind or kind == "nll_loss"
    high, low = times > (3 if classes else 5), classes and times < 0.3
    if not high and not low:
        return
    grave = times > (10 if classes else 100) and stuck(record)
    yield Seen(
        severity="warning" if grave else "note",
        confidence=0.6 if grave else 0.4,
        where=f"{kind}" + _at(record, kind),
        since=0,
        evidence=(
            f"The first batch has a loss of {number(seen)} before any step; a model that knows nothing has "
            f"{number(expected)}" + (f", {times:.3g} times less." if high else ".")
        ),
        fix=(
            "nn.init.zeros_(last.weight)  # or smaller first weights, and standardised inputs and targets"
            if high
            else "is the label among the inputs? Weights that were trained before explain it too"
        ),
        series=record.main.values if record.main else None,
    )


def _at(record: Record, kind: str) -> str:
    site = next((j.site for j in record.judged if j.training and j.kind == kind), None)
    return f" at {site}" if site else ""


@rule(
    "wrong_gradient",
    title="a backward pass of your own is wrong",
    meaning="What backward() gives is not the slope of what forward() computes: steps do not go downhill.",
)
def wrong_gradient(record: Record) -> Iterator[Seen]:
    told: set[str] = set()
    for slope in sorted(record.probed.slopes, key=lambda s: -s.wrong / s.checked):
        if slope.meant in ("identity", "steps") or slope.name in told:
            continue
        told.add(slope.name)
        # A few wrong places among many may lie at kinks; all those of a small argument count.
        wrong = slope.wrong >= min(3, slope.checked) and slope.wrong >= 0.2 * slope.checked
        error = wrong and not slope.meant
        ours, numeric = slope.example
        yield Seen(
            severity="error" if error else "note",
            confidence=0.95 if error else 0.4,
            where=f"{slope.name}.backward at {slope.site}",
            since=0,
            evidence=(
                f"For argument {slope.argument} of {slope.name}.forward, backward disagrees with numeric differences "
                f"at {slope.wrong + slope.passed + slope.stopped} of {slope.checked} places: {number(ours)}, where the "
                f"slope is {number(numeric)}."
                + (f" It is {slope.ratio:.3g} times the slope everywhere." if math.isfinite(slope.ratio) else "")
                + ("" if error else _excuse(slope))
            ),
            fix="torch.autograd.gradcheck(F.apply, x.double().requires_grad_())  # until it is True",
        )


def _excuse(slope: Probed.Slope) -> str:
    if slope.meant == "scaled":
        return " forward only scales its argument: another slope may be meant."
    if slope.passed and not slope.wrong:
        return " It passes gradients where forward is flat, as a straight-through estimator does."
    if slope.stopped and not slope.wrong:
        return " It stops gradients there, which may be meant."
    return ""


@rule(
    "better_rate",
    title="another learning rate gets further",
    meaning="A few steps on one batch from the first weights: a hint at the order of magnitude, not a measurement.",
    follows=("lr_too_high", "lr_too_low"),
)
def better_rate(record: Record) -> Iterator[Seen]:
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
    reached = "shot up" if not math.isfinite(now) else f"got to {number(now)}"
    yield Seen(
        severity="note",
        confidence=0.4,
        where="the optimiser",
        since=0,
        evidence=(
            f"On one batch, {steps} steps from {number(start)} {reached} at the script's rate of {own:g}, and to "
            f"{number(probed[best])} at {best:.2g}, the best of {len(probed)} rates."
        ),
        fix=f"lr={float(f'{best:.0e}'):g}  # now {own:g}",
    )
