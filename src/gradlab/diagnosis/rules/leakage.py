"""Answers that the model has seen: in a column, in rows of the training that are evaluated, or in the future."""

from collections.abc import Iterator

import torch

from gradlab.diagnosis.progress import moving_targets
from gradlab.diagnosis.record import COLUMNS, Record, Shared
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, at, named
from gradlab.diagnosis.shapes import flatten_rows

_FEW = 100  # rows: less are looked at, not measured
_DIFFERENT = 20  # numbers: fewer may be classes


@Rule(
    slug="target_leak",
    title="a column gives the answer away",
    meaning="If it is only known when the answer is, the figures say nothing of how the model will do.",
    evidence=(
        "{column!r} alone predicts {target!r} nearly without error: {figure} {alone:.3f}, beside {others:.3f} of all "
        "other columns together."
    ),
    remedy="leave {columns} out of the inputs, unless it is known before {target} is",
)
def target_leak(record: Record) -> Iterator[Case]:
    if record.leaks:
        first, *others = sorted(record.leaks, key=lambda leak: -leak.alone)
        columns = [leak.column for leak in (first, *others)]
        yield Case(
            ("warning", 0.9),
            *columns,
            besides=" So does {more}." if others else "",
            columns=",".join(columns),
            more=named(columns[1:]),
            **vars(first),
        )
    yield from _column_as_target(record)


def _column_as_target(record: Record) -> Iterator[Case]:
    """Whether the target of each row is one of the numbers that the model is given."""
    pairs = [(flatten_rows(x), flatten_rows(y)) for x, y in record.examples if x.is_floating_point()]
    width = min((x.shape[1] for x, _ in pairs), default=0)
    if not 2 <= width <= COLUMNS or any(x.shape[1] != width or y.shape[1] != 1 for x, y in pairs):
        return
    x, y = torch.cat([x for x, _ in pairs]), torch.cat([y for _, y in pairs]).to(pairs[0][0].dtype)
    if len(torch.unique(y)) < _DIFFERENT:  # classes may be columns of ones and zeros by chance
        return
    same = (x == y).float().mean(0)
    column = int(same.argmax())
    if float(same[column]) > 0.99:
        yield Case(
            ("note", 0.6),
            at("loss", next((c.site for c in record.loss_calls if c.training), None)),
            evidence="In {rows:,} of {examples:,} examples the target is the very number {column} of {width} inputs.",
            remedy="y = series[i + length]  # the one after the window, which the model is not given",
            rows=int((x[:, column] == y[:, 0]).sum()),
            examples=len(x),
            column=column,
            width=width,
        )


@Rule(
    slug="data_leak",
    title="the model is tested on rows it was trained on",
    meaning="The figure says how well it remembers, not how well it would do.",
    evidence=(
        "{shared:,} of {rows:,} rows ({share:.0%}) in {batches} batches with gradients off are rows that the model was "
        "trained on; {clear} other batches had none."
    ),
    remedy="split first, then oversample or augment the training part only",
)
def data_leak(record: Record) -> Iterator[Case]:
    masked = _masked_in_evaluation_only(record)
    if masked is not None:
        yield masked
        return
    if moving_targets(record):  # what an agent acts on, it learns from
        return
    for one in record.shared:
        other = _neighbours(one) or _taken_over(one) or _only_training_rows(record, one)
        if other is not None:
            yield other
            return
        # Everything, looked at batch by batch: all that was trained on is there, and never by itself.
        everything = one.all_there and not one.known
        # And where it is looked at in the order in which it was divided, one batch lies across the border.
        everything |= one.kinds == 1 and bool(one.known and one.clear)
        # Rows of a few whole numbers meet by chance; real numbers do not.
        chance = one.by_chance if one.stream or not one.continuous else 0.0
        meet = one.values < (2 if one.continuous else 16) or one.shared < 5 * chance * one.rows
        if one.shared >= 20 and one.shared >= 0.05 * one.rows and not everything and not meet:
            yield _leak(one)
            return


def _neighbours(one: Shared) -> Case | None:
    """Windows that were cut out of a series first and split at random then: nearly all have a neighbour in training."""
    if one.neighbours < 20 or one.neighbours < 0.5 * one.compared:
        return None
    return Case(
        ("error", 0.92),
        "rows of the evaluation",
        evidence=(
            "{neighbours:,} of {compared:,} rows that were not trained on are those of training rows moved by one "
            "place: all of their numbers but one moment were there in training."
        ),
        remedy="split the series by time (or by person, by recording) first, then cut each part into windows",
        neighbours=one.neighbours,
        compared=one.compared,
    )


def _taken_over(one: Shared) -> Case | None:
    """Held-out rows that one model was trained on later: a split drawn anew, or folds that share a model."""
    if one.first_known > 0.3 or one.last_known < 0.5 or one.returned < 0.8 or one.evaluated < 20:
        return None
    return Case(
        ("error", 0.92),
        "rows of the evaluation",
        evidence=(
            "At the first evaluation {first_known:.0%} of the rows had been trained on, at the last {last_known:.0%}; "
            "{returned:.0%} of the rows that were new at first were trained on later."
        ),
        remedy="split once, before the first epoch; in each fold begin with a fresh model and optimiser",
        first_known=one.first_known,
        last_known=one.last_known,
        returned=one.returned,
    )


def _only_training_rows(record: Record, one: Shared) -> Case | None:
    """A part of the training rows that figures are made of, again and again, and never others."""
    figures = record.figures >= 2 or any(not j.training and j.count >= 2 for j in record.loss_calls)
    # Rows that are drawn anew each time are a look at the training error.
    whole = one.batches or one.clear or one.all_there or one.stream or one.asked < 2 * one.evaluated
    part = one.evaluated >= _FEW and 0.05 * one.trained <= one.evaluated <= 0.5 * one.trained
    if whole or not part or not figures or not one.continuous or one.last_known < 0.97 or one.known < 3:
        return None
    return Case(
        ("warning", 0.75),
        "rows of the evaluation",
        evidence=(
            "All {evaluated:,} rows that the model was evaluated on, in {batches} batches, are among the {trained:,} "
            "that it was trained on; it was never evaluated on others."
        ),
        remedy="train_set = Subset(data, the rows that are not in the validation set)",
        evaluated=one.evaluated,
        batches=one.known,
        trained=one.trained,
    )


def _leak(one: Shared) -> Case:
    # Where training rows are changed at random (mixed, cropped, moved), those that come again are the ones that were
    # left as they are; an evaluation that has all of these is of the training rows, and says so.
    changed = one.again > 0.9
    return Case(
        ("note", 0.4) if changed else ("error", 0.93) if one.continuous else ("warning", 0.7),
        "rows of the evaluation",
        shared=one.shared,
        rows=one.rows,
        share=one.shared / one.rows,
        batches=one.batches,
        clear=one.clear,
    )


def _masked_in_evaluation_only(record: Record) -> Case | None:
    """Where all rows go through the model at once, as the nodes of a graph do: a loss of all of them in training, and
    of some of the same in evaluation."""
    for root in record.roots:
        training, evaluated = root.inputs[0] if root.inputs else None, root.evaluation_inputs
        if training is None or evaluated is None or training.shape != evaluated.shape or not training.shape:
            continue
        if training.sample is None or evaluated.sample is None or not torch.equal(training.sample, evaluated.sample):
            continue
        rows = training.shape[0]
        kinds = {j.kind for j in record.loss_calls if j.training and j.target_shape[:1] == (rows,) and j.count >= LOOKS}
        for call in record.loss_calls:
            some = call.target_shape[:1] and 0.02 * rows < call.target_shape[0] < 0.98 * rows
            if not call.training and call.kind in kinds and call.count >= 3 and some:
                return Case(
                    ("error", 0.9),
                    at("loss", call.site),
                    evidence=(
                        "{root} gets the same {rows:,} rows in training and in evaluation. The loss of the "
                        "training is of all of them, that of the evaluation of {some:,}."
                    ),
                    remedy="criterion(out[train_mask], y[train_mask])  # in training",
                    root=root.name,
                    rows=rows,
                    some=call.target_shape[0],
                )
    return None


@Rule(
    slug="causal_leak",
    title="the model sees what it should predict",
    meaning=(
        "Outputs for a place change with what comes after it: the loss is of copying, and nothing can be generated."
    ),
    evidence=(
        "The targets are the inputs one place later, and outputs of the first half change by {change:.1e} of their "
        "size when only the second half of the input does."
    ),
    remedy="mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)  # or is_causal=True",
    topic="attention.scaled_dot",
)
def causal_leak(record: Record) -> Iterator[Case]:
    change = record.probed.future
    # A causal model gives exactly zero; sums in another order give a few 1e-7.
    if change is not None and change > 1e-5:
        yield Case(("error", 0.97), named([r.name for r in record.roots[:1]]), change=change)
    copied = record.probed.copied
    if copied is not None and copied > 1e-3:
        yield Case(
            ("error", 0.95),
            named([r.name for r in record.roots[:1]]),
            evidence=(
                "Beside its source, the model is given the targets, each at its own place, and its outputs there "
                "change with them by {change:.1e} of their size: it need only copy."
            ),
            remedy="model(source, target[:, :-1])  # and the loss against target[:, 1:]",
            change=copied,
        )
    repeated = record.probed.itself
    if repeated is not None and repeated > 1e-3:
        yield Case(
            ("error", 0.95),
            named([r.name for r in record.roots[:1]]),
            evidence=(
                "The target of each place is the input at that very place, and the output there changes with it by "
                "{change:.1e} of its size: it need only copy, and nothing is learnt of what comes next."
            ),
            remedy="model(ids[:, :-1])  # and the loss against ids[:, 1:]",
            change=repeated,
        )
