"""Train, validation and test: who goes where, as a pure function of the seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.examples import Rows
from gradlab.errors import GradlabError
from gradlab.wording import counted


@dataclass(frozen=True, kw_only=True)
class Split:
    """How the examples of a source are divided; `validation` is a share of what the test leaves."""

    test: float = 0.0
    validation: float = 0.0
    validation_from: int | None = None
    test_from: int | None = None
    folds: int | None = None
    fold: int = 0
    seed: int = 0


def hold_out(
    rows: Rows,
    share: float,
    seed: int,
    labels: npt.NDArray[np.int64] | None = None,
    groups: npt.NDArray[np.int64] | None = None,
) -> tuple[Rows, Rows]:
    """Split `rows` into (kept, held out), both in ascending order, holding out `share` of them.

    With labels (one per row of the whole data), each class is held out in the same share up to rounding. With groups,
    the share is as near as whole groups allow.

    >>> kept, held = hold_out(np.arange(10), 0.2, seed=0)
    >>> len(kept), len(held)
    (8, 2)
    """
    if groups is not None and share > 0:
        held = _whole_groups(groups[rows], share, seed, None if labels is None else labels[rows])
        return rows[~held], rows[held]
    shuffled = np.random.default_rng(seed).permutation(rows)
    count = round(share * len(rows))
    if labels is not None:
        shuffled = _classes_first(shuffled, labels[shuffled], share, count)
    return np.sort(shuffled[count:]), np.sort(shuffled[:count])


def _classes_first(rows: Rows, labels: npt.NDArray[np.int64], share: float, count: int) -> Rows:
    """Reordered so that the first `count` rows hold each class in its share, rounded down or up."""
    classes, members = np.unique(labels, return_inverse=True)
    quota = share * np.bincount(members)
    taken = np.floor(quota).astype(np.int64)
    # What rounding down leaves goes to the largest remainders.
    short = np.argsort(taken - quota, kind="stable")[: count - taken.sum()]
    taken[short] += 1
    chosen = np.zeros(len(rows), dtype=bool)
    for index in range(len(classes)):
        chosen[np.flatnonzero(members == index)[: taken[index]]] = True
    return np.concatenate([rows[chosen], rows[~chosen]])


def _whole_groups(
    groups: npt.NDArray[np.int64], share: float, seed: int, labels: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.bool_]:
    """Which rows to hold out: each group in turn, the largest first, if that comes nearer to the share of each class.

    The number of rows is off by no more than half the largest group where there is one class, or none.
    """
    members = np.unique(groups, return_inverse=True)[1]
    classes = np.zeros(len(groups), dtype=np.int64) if labels is None else np.unique(labels, return_inverse=True)[1]
    counts = np.zeros((members.max() + 1, classes.max() + 1))
    np.add.at(counts, (members, classes), 1)
    if len(counts) < 2:
        raise GradlabError(
            "Of a single group none can be held out. Name a column with more groups (data.group), "
            "or hold out less (data.test=0, data.validation=0)."
        )
    lacking = share * counts.sum(axis=0)
    order = np.random.default_rng(seed).permutation(len(counts))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    chosen = np.zeros(len(counts), dtype=bool)
    for group in order:
        if ((lacking - counts[group]) ** 2).sum() < (lacking**2).sum():
            chosen[group] = True
            lacking -= counts[group]
    if chosen.all() or not chosen.any():  # something is to be held out, and something kept
        chosen[order[-1]] = not chosen[order[-1]]
    held: npt.NDArray[np.bool_] = chosen[members]
    return held


def latest(rows: Rows, share: float, times: npt.NDArray[np.float64]) -> tuple[Rows, Rows]:
    """Split `rows` into (earlier, later), both in ascending order; about `share` of them are the later ones.

    Rows of one time stay together, so that nothing is predicted from rows of its own moment.

    >>> [part.tolist() for part in latest(np.arange(5), 0.4, np.array([9.0, 1.0, 3.0, 7.0, 1.0]))]
    [[1, 2, 4], [0, 3]]
    """
    if share == 0:
        return rows, rows[:0]
    moments, counts = np.unique(times[rows], return_counts=True)
    if len(moments) < 2:
        raise GradlabError(
            f"{counted(len(rows), 'row')} of the same time cannot be divided into earlier and later ones. Name a "
            "column with more times (data.time), or hold out less (data.test=0, data.validation=0)."
        )
    earlier = np.cumsum(counts)[:-1]  # rows before each moment but the first
    begin = moments[1 + np.abs(earlier - (1 - share) * len(rows)).argmin()]
    later = times[rows] >= begin
    return rows[~later], rows[later]


def fold_numbers(
    rows: Rows,
    folds: int,
    seed: int,
    labels: npt.NDArray[np.int64] | None = None,
    groups: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """The fold of each row, from 0: stratified by labels, and with groups kept whole, where there are any.

    >>> np.bincount(fold_numbers(np.arange(10), 5, seed=0)).tolist()
    [2, 2, 2, 2, 2]
    """
    from sklearn import model_selection as sk

    options: dict[str, Any] = {"n_splits": folds, "shuffle": True, "random_state": seed}
    kept_together = None if groups is None else groups[rows]
    classes = np.zeros(len(rows)) if labels is None else labels[rows]
    if kept_together is not None:
        there = len(np.unique(kept_together))
        if there < folds:
            raise GradlabError(f"{there} groups cannot be divided into {folds} parts that keep each group whole.")
        splitter = sk.GroupKFold(**options) if labels is None else sk.StratifiedGroupKFold(**options)
    elif len(rows) < folds:
        raise GradlabError(f"{len(rows)} examples cannot be divided into {folds} folds. Use fewer folds.")
    else:
        splitter = sk.KFold(**options) if labels is None else sk.StratifiedKFold(**options)
    numbers = np.zeros(len(rows), dtype=np.int64)
    for number, (_, held) in enumerate(splitter.split(classes, classes, kept_together)):
        numbers[held] = number
    return numbers


def check_folds(folds: int, labels: npt.NDArray[np.int64], classes: list[str]) -> None:
    """Each fold must be able to have every class."""
    counts = np.bincount(labels, minlength=len(classes))
    rarest = int(counts.argmin())
    if counts[rarest] < folds:
        fewer = f"Use at most {counts[rarest]} folds, or leave that class out." if counts[rarest] > 1 else ""
        raise GradlabError(
            f"Class {classes[rarest]!r} has {counted(int(counts[rarest]), 'example')}, fewer than the {folds} folds. "
            f"{fewer or 'Leave that class out.'}"
        )


def divide(
    split: Split,
    count: int,
    labels: npt.NDArray[np.int64] | None = None,
    groups: npt.NDArray[np.int64] | None = None,
    times: npt.NDArray[np.float64] | None = None,
) -> tuple[Rows, Rows, Rows]:
    """Rows of the train, validation and test splits; with times, each is later than the one before."""

    def apart(rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
        return hold_out(rows, share, seed, labels, groups) if times is None else latest(rows, share, times)

    rows = np.arange(count, dtype=np.int64)
    own_test = rows[split.test_from :] if split.test_from is not None else rows[:0]
    rest = rows[: split.test_from]
    own_validation = rest[split.validation_from :] if split.validation_from is not None else rest[:0]
    rest = rest[: split.validation_from]
    if split.folds is not None:
        # Cross-validation judges every example of the source once, so its own test is divided like the rest.
        held = fold_numbers(rows, split.folds, split.seed, labels, groups) == split.fold
        rest, tested, own_validation = rows[~held], rows[held], rest[:0]
    elif len(own_test):
        tested = own_test
    else:
        rest, tested = apart(rest, split.test, split.seed)
    if len(own_validation):
        train, validated = rest, own_validation
    else:
        train, validated = apart(rest, split.validation, split.seed + 1)
    if len(train) == 0:
        raise GradlabError(
            f"No example is left to train on: {count} examples, of which {len(tested)} are for test and "
            f"{len(validated)} for validation. Lower data.test or data.validation."
        )
    return train, validated, tested
