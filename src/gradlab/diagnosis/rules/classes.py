"""Classes that a model could tell but does not."""

import math
from collections.abc import Iterator
from typing import Any

from gradlab.diagnosis.record import MISSED, Recognised, Record
from gradlab.diagnosis.rules.base import STEPS, Case, Rule, named

_CHANCE = 0.01  # that a class of which half is recognised looks like one that is missed
_RARE = 0.5  # of the share that it would have if all classes had the same
_SIGNAL = 0.1  # above one half, of an AUROC


@Rule(
    slug="missed_class",
    title="a rare class is missed",
    meaning="The accuracy is high because the class is rare: whoever asks for that class gets no answer.",
    evidence=(
        "Of {examples:,} validation examples of class {missed!r}, {right:,} are recognised (recall {recall:.1%}), "
        "though the model could tell them from others (AUROC {area:.2f}). The accuracy of {accuracy:.1%} says little: "
        "always guessing {common!r} has {guessing:.1%}."
    ),
    remedy="nn.CrossEntropyLoss(weight=total / (classes * counts))  # or a lower threshold for it, where you predict",
    topic="loss.cross_entropy",
    follows="lr_too_high lr_too_low weight_decay_too_strong clipping_always_binds",
)
def missed_class(record: Record) -> Iterator[Case]:
    classes = record.classes
    if classes is None or record.steps < STEPS:
        return
    total = sum(one.examples for one in classes.each)
    missed = [one for one in classes.each if _missed(one, total, len(classes.each))]
    if not missed:
        return
    worst, *_ = missed = sorted(missed, key=lambda one: -one.examples)
    common = max(classes.each, key=lambda one: one.examples)
    two: dict[str, Any] = {"threshold": worst.examples / total} if len(classes.each) == 2 else {}
    yield Case(
        ("warning", 0.8),
        f"validation examples of {named([one.name for one in missed])}",
        since=record.steps,
        missed=worst.name,
        examples=worst.examples,
        right=worst.right,
        recall=worst.recall,
        area=worst.area,
        accuracy=sum(one.right for one in classes.each) / total,
        common=common.name,
        guessing=common.examples / total,
        task=classes.task,
        weighted=classes.weighted,
        **two,
    )


def _missed(one: Recognised, total: int, classes: int) -> bool:
    """Whether a class is rare, is not recognised (by Hoeffding's inequality no chance), and could be."""
    others = total - one.examples
    if not one.examples or not others or one.examples * classes > _RARE * total or one.recall > MISSED:
        return False
    by_chance = math.exp(-2 * one.examples * (0.5 - one.recall) ** 2)
    # The deviation of an AUROC where the scores mean nothing, as that of a rank sum.
    deviation = math.sqrt((total + 1) / (12 * one.examples * others))
    return by_chance < _CHANCE and one.area - 0.5 >= max(_SIGNAL, 3 * deviation)
