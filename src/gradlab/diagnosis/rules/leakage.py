"""Answers that the model has seen: in a column, in rows of the training that are evaluated, or in the future."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import self_made
from gradlab.diagnosis.record import Record, Shared
from gradlab.diagnosis.rules.base import Case, Rule, named


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
    if self_made(record):  # what an agent acts on, it learns from
        return
    for one in record.shared:
        # Everything, looked at batch by batch: all that was trained on is there, and never by itself.
        everything = one.all_there and not one.known
        # Rows of a few whole numbers meet by chance; real numbers do not.
        chance = one.by_chance if one.stream or not one.continuous else 0.0
        meet = one.values < (2 if one.continuous else 16) or one.shared < 5 * chance * one.rows
        if one.shared >= 20 and one.shared >= 0.05 * one.rows and not everything and not meet:
            yield _leak(one)
            return


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
