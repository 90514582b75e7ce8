"""What the doctor says of gradlab's own trainings: the same rules, told in the knobs of a recipe or of `fit`."""

import math
import re
from dataclasses import replace

from gradlab.diagnosis.finding import Finding, Verdict, ranked
from gradlab.diagnosis.logged import Logged
from gradlab.diagnosis.progress import constant_loss, stuck, unlearnt
from gradlab.diagnosis.rules import judge

_GIVEN_BACK = 0.1  # of what a constant prediction costs: an evaluation that rises by less has lost nothing that matters


def advise(source: Logged, knobs: str, keeps_best: bool) -> Verdict:
    """The verdict; `knobs` is what stands before the name of a training's knob, such as `train.`."""
    findings, faults = judge(source.record)
    told = [_worded(_weighed(finding, source, keeps_best), source, knobs, keeps_best) for finding in findings]
    return Verdict(findings=ranked(told), steps=source.record.steps, seconds=source.record.seconds, faults=faults)


def _weighed(finding: Finding, source: Logged, keeps_best: bool) -> Finding:
    """A finding is as grave as what it costs, and as what is known of the training allows."""
    record = source.record
    known = math.isfinite(constant_loss(record))
    if finding.severity == "note":
        return finding
    if finding.slug == "overfitting":
        values, train = source.held_out.values, source.trained.values.tail(0.2)
        rose = not known or values.last - values.smallest >= _GIVEN_BACK * constant_loss(record)
        if stuck(record) or train > values.smallest or not rose:
            return replace(finding, severity="note")
        return replace(finding, severity="warning") if keeps_best else finding
    # A loss of the user's own may have any floor, and its model may have learnt before.
    if finding.slug == "no_learning" and not (known and unlearnt(record)):
        return replace(finding, severity="note")
    if finding.slug == "lr_too_low" and not known:
        return replace(finding, severity="warning")
    return finding


def _worded(finding: Finding, source: Logged, knobs: str, keeps_best: bool) -> Finding:
    """Without the lines of a script, which there is none of."""
    slug, evidence, title = finding.slug, finding.evidence, finding.title
    if slug == "overfitting" and keeps_best:
        evidence += f" The weights that were kept are those of step {finding.since_step:,}."
    if slug == "no_learning" and source.loss.end < 0.9 * source.loss.start:
        title = "the model has learnt no more than a constant says"
    where = _PLACES.get(slug) or re.sub(r"(,? (called|made))? at None", "", finding.where)
    return replace(finding, where=where, evidence=evidence, title=title, fix=_change(finding, source, knobs))


def _change(finding: Finding, source: Logged, knobs: str) -> str:
    slug, fix = finding.slug, finding.fix
    if slug in ("lr_too_high", "lr_too_low"):
        return f"{knobs}{fix.partition('  #')[0]}  # now {source.optimizer.settings['lr']:g}"
    if slug == "weight_decay_too_strong":
        return f"{knobs}{fix}"
    if slug in ("clipping_always_binds", "clipping_never_binds"):
        one = source.record.clippings[0]
        return f"{knobs}clip={2 * one.norm.median():.1g}  # now {one.limit:g}"
    if slug in _CHANGES:
        return _CHANGES[slug].replace("KNOB.", knobs)
    return _OF_RECIPES.get(slug, fix) if knobs else fix


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

_CHANGES = {
    "exploding_gradient": "KNOB.clip=1  # or a lower KNOB.lr",
    "nan_loss": "KNOB.clip=1  # or a lower KNOB.lr",
    "lr_decayed_to_zero": "KNOB.schedule=cosine  # or one that is laid out for all steps",
    "overfitting": (
        "KNOB.keep=best KNOB.patience=5  # end soon after the best, with its weights; else more data, "
        "KNOB.weight_decay=1e-2, dropout, or a smaller model"
    ),
}

_OF_RECIPES = {
    "no_learning": "`gradlab train … --check` looks for the cause, `--find-lr` for a rate; then look at the data",
    "unnormalized_input": "data.preprocess=standardise",
}
