"""What only extra runs on copies tell: examples of a batch that mix, and gradients that are not slopes."""

import math
from collections.abc import Iterator

from gradlab.diagnosis.record import Probed, Record
from gradlab.diagnosis.rules.base import Case, Grade, Rule, at

# What a batch in another order or size changes by rounding is a thousand times less.
_MIXED = 1e-3


@Rule(
    slug="batch_mixing",
    title="examples of a batch mix",
    meaning="What the model says of an example depends on which others happen to be beside it.",
    evidence=(
        "In evaluation mode, {share:.0%} of the outputs of {root} change, by up to {change:.1e} of the largest, when "
        "only other rows of the batch do"
    ),
    remedy="no view, reshape, softmax, mean or recurrence along axis 0; move axes with permute or transpose",
    follows="view_mixes_axes wrong_softmax_dim",
)
def batch_mixing(record: Record) -> Iterator[Case]:
    for mixed in record.probed.mixing:
        if mixed.change < _MIXED and mixed.company == "new" and not mixed.doubt and mixed.order:
            yield _placed(mixed, mixed.order)
        if mixed.change < _MIXED or mixed.company == "all":
            continue
        order = math.nan if mixed.order is None else mixed.order
        besides = "; in another order of the rows they change by {order:.1e}." if order > _MIXED else "."
        if mixed.through:
            besides += " {module} takes the first axis, that of the examples, for time."
        if mixed.company == "new":
            besides += " Rows come again in other batches."
        yield Case(
            _how_sure(mixed),
            f"{mixed.root}.{mixed.through}" if mixed.through else mixed.root,
            besides=besides + (" It may be meant: {doubt}." if mixed.doubt else ""),
            remedy="batch_first=True  # the inputs are (batch, time, features)" if mixed.through else "",
            share=mixed.rows,
            root=mixed.root,
            change=mixed.change,
            order=order,
            module=mixed.through,
            doubt=mixed.doubt,
        )


def _placed(mixed: Probed.Mixing, order: float) -> Case:
    """Rows do not see each other, but each is told by its place in the batch: an axis was taken for another."""
    return Case(
        ("error", 0.92),
        mixed.root,
        evidence=(
            "In evaluation mode, outputs of {root} change by up to {order:.1e} of the largest when the same rows come "
            "in another order, though none depends on the others. Rows come again in other places."
        ),
        remedy="index positions by the axis of time: pe[:, : x.size(1)] where batches come first",
        root=mixed.root,
        order=order,
    )


def _how_sure(mixed: Probed.Mixing) -> Grade:
    # Nodes of a graph, points of a set and moments of a series belong together: they always come together.
    if mixed.doubt or mixed.company != "new" or mixed.order is None:
        return "note", 0.3
    # Attention, contrast and statistics across a batch do not care for its order; what does is a slip of an axis. That
    # of a few rows at a border only is a neighbour taken on purpose.
    if mixed.order > _MIXED and mixed.rows >= 0.5:
        return "error", min(0.95, 0.9 + 0.02 * math.log10(mixed.order / _MIXED))
    return ("warning", 0.75) if mixed.through else ("note", 0.4)


@Rule(
    slug="wrong_gradient",
    title="a backward pass of your own is wrong",
    meaning="What backward() gives is not the slope of what forward() computes: steps do not go downhill.",
    evidence=(
        "For argument {argument} of {function}.forward, backward disagrees with numeric differences at {different} of "
        "{checked} places: {gradient}, where the slope is {slope}."
    ),
    remedy="torch.autograd.gradcheck(F.apply, x.double().requires_grad_())  # until it is True",
)
def wrong_gradient(record: Record) -> Iterator[Case]:
    done: set[str] = set()
    for slope in sorted(record.probed.slopes, key=lambda s: -s.wrong / s.checked):
        if slope.meant in ("identity", "steps") or slope.name in done:
            continue
        done.add(slope.name)
        # A few wrong places among many may lie at kinks; all those of a small argument count.
        error = slope.wrong >= min(3, slope.checked) and slope.wrong >= 0.2 * slope.checked and not slope.meant
        besides = " It is {ratio:.3g} times the slope everywhere." if math.isfinite(slope.ratio) else ""
        gradient, numeric = slope.example
        yield Case(
            ("error", 0.95) if error else ("note", 0.4),
            at(f"{slope.name}.backward", slope.site),
            besides=besides + ("" if error else _excuse(slope)),
            argument=slope.argument,
            function=slope.name,
            different=slope.wrong + slope.passed + slope.stopped,
            checked=slope.checked,
            gradient=gradient,
            slope=numeric,
            ratio=slope.ratio,
        )


def _excuse(slope: Probed.Slope) -> str:
    if slope.meant == "scaled":
        return " forward only scales its argument: another slope may be meant."
    if slope.passed and not slope.wrong:
        return " It passes gradients where forward is flat, as a straight-through estimator does."
    if slope.stopped and not slope.wrong:
        return " It stops gradients there, which may be meant."
    return ""
