"""What the doctor says of gradlab's own trainings: the same findings, in the knobs of a recipe or of `fit`."""

import math
from collections.abc import Collection
from dataclasses import replace

from gradlab.diagnosis.finding import Finding, Spot, Verdict, fill, ranked
from gradlab.diagnosis.logged import Logged
from gradlab.diagnosis.progress import constant_loss, stuck, unlearnt
from gradlab.diagnosis.rules import for_script, judge
from gradlab.diagnosis.rules.base import Case, Rule

_GIVEN_BACK = 0.1  # of what a constant prediction costs: an evaluation that rises by less has lost nothing that matters


def advise(source: Logged, knobs: Collection[str], keeps_best: bool) -> Verdict:
    """The verdict; `knobs` are those that the user can set, by the names that a recipe has for them."""
    record = source.record
    stop = "train.patience=5" if keeps_best else "train.keep=best train.patience=5"

    def for_recipe(rule: Rule, case: Case) -> Finding:
        case.measured |= _as_logged(case, source)
        finding = for_script(rule, case)
        slug, words = rule.slug, {**case.measured, "lr": source.optimizer.settings["lr"], "stop": stop}
        remedy = next((text for needed, text in _REMEDIES.get(slug, []) if needed <= {*knobs}), None)
        if slug == "missed_class" and "task.class_weights" in knobs:
            remedy = (_MORE if case.measured["weighted"] else _BALANCED) + _DECIDE * ("threshold" in case.measured)
        if slug == "overfitting" and keeps_best:
            finding = replace(finding, evidence=f"{finding.evidence} {fill(_KEPT, case.measured)}")
        if slug == "no_learning" and source.loss.end < 0.9 * source.loss.start:
            finding = replace(finding, title="the model has learnt no more than a constant says")
        place = (Spot(_PLACES[slug]),) if slug in _PLACES else finding.place
        return replace(finding, place=place, fix=fill(remedy, words) if remedy else finding.fix)

    findings, faults = judge(record, for_recipe)
    weighed = [_weighed(finding, source, keeps_best) for finding in findings]
    return Verdict(findings=ranked(weighed), steps=record.steps, seconds=record.seconds, faults=faults)


def _as_logged(case: Case, source: Logged) -> dict[str, float]:
    """Where a loss began and ended as the log and the report have it: the rules judge by medians of several values."""
    loss, trained = source.loss, source.trained.values
    exact = {
        "start": (loss.start, loss.values.first),
        "end": (loss.end, loss.values.last),
        "train": (trained.tail(0.2), trained.last),
    }
    return {key: shown for key, (median, shown) in exact.items() if case.measured.get(key) == median}


def _weighed(finding: Finding, source: Logged, keeps_best: bool) -> Finding:
    """A finding is as grave as what it costs, and as what is known of the training allows."""
    record = source.record
    constant = constant_loss(record)
    known = math.isfinite(constant)
    if finding.severity == "note":
        return finding
    if finding.slug == "overfitting":
        values, train = source.held_out.values, source.trained.values.tail(0.2)
        rose = not known or values.last - values.smallest >= _GIVEN_BACK * constant
        if stuck(record) or train > values.smallest or not rose:
            return replace(finding, severity="note")
        return replace(finding, severity="warning") if keeps_best else finding
    # A loss of the user's own may have any floor, and its model may have learnt before.
    if finding.slug == "no_learning" and not (known and unlearnt(record)):
        return replace(finding, severity="note")
    if finding.slug == "lr_too_low" and not known:
        return replace(finding, severity="warning")
    return finding


_MORE = "more examples of class {missed!r}, or a longer training"
_BALANCED = "task={task} task.class_weights=balanced"
_DECIDE = "  # or decide otherwise: gradlab predict RUN FILE --threshold {threshold:.2g}"
_KEPT = "The weights that were kept are those of step {step:,}."

_PLACES = {
    "no_learning": "the training loss",
    "nan_loss": "the training loss",
    "overfitting": "the validation split",
    "exploding_gradient": "the whole gradient",
    "clipping_always_binds": "the whole gradient",
    "clipping_never_binds": "the whole gradient",
    "lr_decayed_to_zero": "the schedule",
    "unnormalized_input": "the inputs",
    "constant_feature": "the inputs",
    "duplicated_feature": "the inputs",
}

_RATE, _CLIP = {"train.lr"}, {"train.clip"}
_REMEDIES: dict[str, list[tuple[set[str], str]]] = {
    "lr_too_high": [(_RATE, "train.lr={suggested:g}  # now {lr:g}")],
    "lr_too_low": [(_RATE, "train.lr={suggested:g}  # now {lr:g}")],
    "weight_decay_too_strong": [({"train.weight_decay"}, "train.weight_decay=1e-4  # now {decay:g}")],
    "clipping_always_binds": [(_CLIP, "train.clip={suggested:.1g}  # now {limit:g}")],
    "clipping_never_binds": [(_CLIP, "train.clip={suggested:.1g}  # now {limit:g}")],
    "exploding_gradient": [(_CLIP, "train.clip=1  # or a lower train.lr"), (_RATE, "a lower train.lr")],
    "nan_loss": [(_CLIP, "train.clip=1  # or a lower train.lr"), (_RATE, "a lower train.lr")],
    "lr_decayed_to_zero": [
        ({"train.schedule"}, "train.schedule=cosine  # or one that is laid out for all steps"),
    ],
    "overfitting": [
        (
            {"train.patience", "model.dropout"},
            "{stop}  # end soon after the best, with its weights; else more data, train.weight_decay=1e-2, "
            "model.dropout=0.2, or a smaller model",
        ),
        (
            {"train.patience"},
            "{stop}  # end soon after the best, with its weights; else more data, train.weight_decay=1e-2, or a "
            "smaller model",
        ),
    ],
    "no_learning": [
        (
            {"data"},
            "`gradlab train … --check` looks for the cause, `--find-lr` for a rate; then look at the data",
        ),
    ],
    "unnormalized_input": [({"data.preprocess"}, "data.preprocess=standardise")],
    "target_leak": [({"data.drop"}, "data.drop={columns!q}  # unless it is known before {target} is")],
}
"""Remedies in the knobs of a recipe, with those that each needs: the first that can be followed is told, else that of a
script."""
