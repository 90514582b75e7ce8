"""How far a training came: what most measurements need before they are called a fault."""

import math

from gradlab.diagnosis.record import Loss, LossCall, Parameter, Record, Root
from gradlab.diagnosis.series import Series, median

HALF, MUCH, MOST, NEARLY_ALL = 0.5, 0.7, 0.8, 0.9
"""Shares of a loss that may be left, for `poor`."""

_SAME = 0.97  # of the loss of a constant prediction: no less is no better than it
_FALLING = 0.97  # of the lowest loss in the first two thirds of a log: below it, the training is still under way
_FRESH = 0.8  # of the loss of a constant prediction: no model that knows nothing is better than that
_SHOT_UP = 3.0  # times the first loss


def poor(record: Record, share: float) -> bool:
    """Whether a training has failed, or more than this share of its loss is left."""
    return stuck(record) or left(record) > share


def stuck(record: Record, loss: Loss | None = None) -> bool:
    """Whether a training has failed to learn."""
    loss = loss or record.main
    if loss is None:
        return False
    if loss.not_finite is not None or (record.not_finite is not None and record.not_finite.what != "input"):
        return True
    if len(loss.values) < 10 or without_aim(record):
        return False
    if record.logged:
        first = loss.values.first
        return first > 0 and (unlearnt(record) or (loss.values.largest > 1.5 * first and left(record) > 0.9))
    # Before any step; the median of a few, unless they have shot up already.
    start, end = min(loss.start, max(loss.values.first, 0.3 * loss.start)), loss.end
    if not (math.isfinite(start) and math.isfinite(end)):
        return True
    # A first batch may be easy by chance: to shoot up is to be far above a constant prediction, where that is known.
    share = left(record, loss) if _constant(record) else 0.0
    high = max(start, end / share) if share > 0 else start
    if high > 0 and loss.values.largest > _SHOT_UP * high and end > 0.5 * high:
        return True
    return left(record, loss) > _SAME if _constant(record) else start > 0 and end > 0.9 * start


def flat_for(loss: Loss) -> float:
    """The share of a training's steps before the loss had come a tenth of its way down; 1 if it never went down."""
    count = max(5, len(loss.values) // 50)
    means = [loss.values.median(i, i + count) for i in range(0, len(loss.values) - count + 1, count)]
    if len(means) < 10 or not means[-1] < means[0]:
        return 1.0
    return next(i for i, mean in enumerate(means) if mean <= means[0] - 0.1 * (means[0] - means[-1])) / len(means)


def falling(values: Series, since: int = 0) -> bool:
    """Whether the last third of a loss lies below the first by more than its thirds differ within."""
    part = values.values[since:]
    third = len(part) // 3
    if third < 5:
        return False
    first, last = part[:third], part[-third:]
    spread = max(_deviation(first), _deviation(last)) / math.sqrt(third)
    return sum(first) / third - sum(last) / third > 4 * spread


def _deviation(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) * (value - mean) for value in values) / len(values))


def unlearnt(record: Record) -> bool:
    """Of a log: whether the loss has come no further than a constant prediction's and does not fall any more, or has
    exploded on its way. A line is a mean over many steps, so that the loss before the first step is the beginning."""
    loss = record.main
    if loss is None or not loss.values:
        return False
    if loss.values.largest > _SHOT_UP * loss.values.first and left(record) > 0.5:
        return True
    before = min(loss.values.values[: 2 * len(loss.values) // 3], default=math.inf)
    return record.has_floor and loss.end > _FALLING * before and left(record) > _SAME


def left(record: Record, loss: Loss | None = None) -> float:
    """The share of the loss that is still there: of the best constant prediction's, where it is known, else of the
    first steps'. Below zero (log-densities, rewards) nothing can be said, and it is 0."""
    loss = loss or record.main
    if loss is None or not loss.values:
        return 0.0
    if loss.not_finite is not None:
        return math.inf
    if without_aim(record):
        return 0.0
    call = _constant(record)
    if call is None:
        start = loss.values.first if record.logged else loss.start
        return loss.end / start if start > 0 and loss.end > 0 else 0.0
    # Of all steps, in units of the loss function: parts of an accumulated batch are divided by their number.
    known = dict(call.values)
    scale = median([value / known[step] for step, value in loss.values if known.get(step, 0.0) > 0])
    share = (loss.end / scale - call.floor) / (call.constant_loss - call.floor) if scale > 0 else 0.0
    if record.logged and _FRESH * call.constant_loss < call.values.first < call.constant_loss:
        # A fresh model was a little better than a constant by chance; one that was far better had learnt before.
        share *= call.constant_loss / call.values.first
    return share


def without_aim(record: Record) -> bool:
    """Whether the loss need not fall: that of players who work against each other, or of an agent."""
    return adversarial(record) or moving_targets(record)


def evaluated_badly(record: Record) -> bool:
    """Whether evaluations have come out no better than the training began, by the loss that went down in training."""
    evaluations = [j for j in record.loss_calls if not j.training and len(j.values) >= 2]
    for trained in (j for j in record.loss_calls if j.training and len(j.values) >= 5):
        for evaluated in (j for j in evaluations if j.kind == trained.kind):
            start, end = trained.values.head(5), trained.values.tail()
            if end < 0.7 * start and evaluated.values.tail() > max(0.8 * start, 1.5 * end):
                return True
    return False


def adversarial(record: Record) -> bool:
    """Whether optimisers take turns on losses of their own, so that none of them need fall."""
    return len(record.losses) > 1 and sum(o.steps > 0.05 * record.steps for o in record.optimizers) > 1


def moving_targets(record: Record) -> bool:
    """Whether what is trained is also called without gradients in most steps, as by an agent that acts, or is seen to
    learn from what actions brought: its targets move with it."""
    if record.bootstraps or record.policies or acts(record):
        return True
    asked = (r for r in record.roots if evaluated_often(record, r.evaluated_steps))
    return record.steps >= 20 and any(r.trained or _follows(record, r) for r in asked)


def _follows(record: Record, root: Root) -> bool:
    """Whether it is a copy that goes after what is trained: no optimiser has its weights, but they change, or were
    taken over from somewhere into a model of the same shapes."""
    theirs = _parameters(record, root)
    if not theirs or any(p.optimizer is not None for p in theirs):
        return False
    shapes = [p.shape for p in theirs]
    twins = (other for other in record.roots if other.trained and other is not root)
    taken = all(p.loaded or p.inherited for p in theirs)
    return any(p.changed for p in theirs) or (taken and any(_shapes(record, twin) == shapes for twin in twins))


def _parameters(record: Record, root: Root) -> list[Parameter]:
    return [p for p in record.parameters.values() if p.name.startswith(f"{root.name}.")]


def _shapes(record: Record, root: Root) -> list[tuple[int, ...]]:
    return [p.shape for p in _parameters(record, root)]


def acts(record: Record) -> bool:
    """Whether new rows were looked at all the time and then trained on: states of a world that is met by acting."""
    return any(max(one.first_known, one.last_known) < 0.3 and one.returned > 0.5 for one in record.shared)


def evaluated_often(record: Record, steps: int) -> bool:
    """Whether so many steps with calls without gradients belong to the training: targets, generators, teachers."""
    return steps > 0.3 * max(1, record.steps)


def constant_loss(record: Record) -> float:
    """What the best constant prediction would give, if the loss is one of torch's and the only one; else NaN."""
    call = _constant(record)
    return call.constant_loss if call else math.nan


def _constant(record: Record) -> LossCall | None:
    """The only loss function of the training, if it is known what the best constant prediction gives."""
    known = [j for j in record.loss_calls if j.training and j.count > 0]
    if len(known) != 1 or len(record.losses) != 1 or len(known[0].values) < 5:
        return None
    one = known[0]
    # Weights and smoothing make another constant the best, of another loss.
    plain = not any(one.settings.get(name) for name in ("weight", "pos_weight", "label_smoothing"))
    return one if plain and math.isfinite(one.constant_loss) and one.constant_loss - one.floor > 1e-6 else None
