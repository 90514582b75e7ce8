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
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(rows)
    count = round(share * len(rows))
    if labels is not None:
        # Order by each row's relative rank within its class (half a place in, so that no class is rounded up first):
        # any prefix then holds the classes in nearly equal shares.
        rank = np.empty(len(rows))
        for label in np.unique(labels[rows]):
            members = np.flatnonzero(labels[shuffled] == label)
            rank[members] = (np.arange(len(members)) + 0.5) / len(members)
        shuffled = shuffled[np.argsort(rank, kind="stable")]
    return np.sort(shuffled[count:]), np.sort(shuffled[:count])


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
