"""Train, validation and test: who goes where, as a pure function of the seed."""

import numpy as np
import numpy.typing as npt

from gradlab.errors import GradlabError

Rows = npt.NDArray[np.int64]


def hold_out(rows: Rows, share: float, seed: int, labels: npt.NDArray[np.int64] | None = None) -> tuple[Rows, Rows]:
    """Split `rows` into (kept, held out), both in ascending order, holding out `share` of them.

    With labels (one per row of the whole data), each class is held out in the same share up to rounding.

    >>> kept, held = hold_out(np.arange(10), 0.2, seed=0)
    >>> len(kept), len(held)
    (8, 2)
    """
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


def three_way(
    labels: npt.NDArray[np.int64] | None, count: int, test_from: int | None, test: float, validation: float, seed: int
) -> tuple[Rows, Rows, Rows]:
    """Rows of the train, validation and test splits. `validation` is a share of what the test leaves."""
    rows = np.arange(count, dtype=np.int64)
    rest, tested = (rows[:test_from], rows[test_from:]) if test_from else hold_out(rows, test, seed, labels)
    train, validated = hold_out(rest, validation, seed + 1, labels)
    if len(train) == 0:
        raise GradlabError(
            f"No example is left to train on: {count} examples, of which {len(tested)} are for test and "
            f"{len(validated)} for validation. Lower data.test or data.validation."
        )
    return train, validated, tested
