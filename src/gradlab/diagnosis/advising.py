"""What the doctor says of gradlab's own trainings: the same findings, in the knobs of a recipe or of `fit`."""

import math
from dataclasses import replace

from gradlab.diagnosis.finding import Finding, Spot, Verdict, fill, ranked
from gradlab.diagnosis.logged import Logged
from gradlab.diagnosis.progress import constant_loss, stuck, unlearnt
from gradlab.diagnosis.rules import for_script, judge
from gradlab.diagnosis.rules.base import Case, Rule

_GIVEN_BACK = 0.1  # of what a constant prediction costs: an evaluation that rises by less has lost nothing that matters


def advise(source: Logged, knobs: str, keeps_best: bool) -> Verdict:
    """The verdict; `knobs` is what stands before the name of a training's knob, such as `train.`."""
    record = source.record

    def for_recipe(rule: Rule, case: Case) -> Finding:
        finding = for_script(rule, case)
        slug, words = rule.slug, {**case.measured, "knobs": knobs, "lr": source.optimizer.settings["lr"]}
        remedy = _KNOBS.get(slug) or (_RECIPES.get(slug) if knobs else None)
        if slug == "missed_class" and knobs:
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

_KNOBS = {
    "lr_too_high": "{knobs}lr={suggested:g}  # now {lr:g}",
    "lr_too_low": "{knobs}lr={suggested:g}  # now {lr:g}",
    "weight_decay_too_strong": "{knobs}weight_decay=1e-4  # now {decay:g}",
    "clipping_always_binds": "{knobs}clip={suggested:.1g}  # now {limit:g}",
    "clipping_never_binds": "{knobs}clip={suggested:.1g}  # now {limit:g}",
    "exploding_gradient": "{knobs}clip=1  # or a lower {knobs}lr",
    "nan_loss": "{knobs}clip=1  # or a lower {knobs}lr",
    "lr_decayed_to_zero": "{knobs}schedule=cosine  # or one that is laid out for all steps",
    "overfitting": (
        "{knobs}keep=best {knobs}patience=5  # end soon after the best, with its weights; else more data, "
        "{knobs}weight_decay=1e-2, dropout, or a smaller model"
    ),
}
"""Remedies in the knobs of a training, whether a recipe's or `fit`'s; the rest are told as for a script."""

_RECIPES = {
    "no_learning": "`gradlab train … --check` looks for the cause, `--find-lr` for a rate; then look at the data",
    "unnormalized_input": "data.preprocess=standardise",
    "target_leak": "data.drop={columns!q}  # unless it is known before {target} is",
}
"""Those that only a recipe has."""
