"""Which tokens followed which contexts in a text, and how often: sorted keys, and nothing for what did not occur.

A context is known by a number. That of the last j tokens is its place among the sorted keys

    (number of the last j − 1 tokens) · m + (the token before them)

where m is the size of the vocabulary. So one walk from the newest token back meets the contexts of every length, and
the keys stay small however long a context is. What follows it has the key (number of the context) · m + (the token).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gradlab.errors import GradlabError

Keys = npt.NDArray[np.int64]

_CHUNK = 2**18  # tokens that are counted together


class Counts(NamedTuple):
    """Contexts of one length: their keys; the keys of what follows them; and how often it does."""

    contexts: Keys
    pairs: Keys
    counts: Keys


def token_counts(tokens: npt.NDArray[Any], vocabulary: int) -> Keys:
    """How often each token occurs."""
    counts = np.zeros(vocabulary, dtype=np.int64)
    for start in range(0, len(tokens), _CHUNK):
        part = tokens[start : start + _CHUNK].astype(np.int64)
        if not 0 <= part.min() <= part.max() < vocabulary:
            raise GradlabError(
                f"The text has tokens {part.min()} to {part.max()}, but the vocabulary is 0 to {vocabulary - 1}. "
                "Were they made by another tokenizer?"
            )
        counts += np.bincount(part, minlength=vocabulary)
    return counts


def context_counts(tokens: npt.NDArray[Any], vocabulary: int, shorter: list[Keys]) -> Counts:
    """Counts for contexts one token longer than `shorter` has them: the keys of contexts of length 1, 2 and so on.

    The text is read a chunk at a time, and the memory is that of the different contexts and of what follows them.
    """
    length = len(shorter) + 1
    if shorter and len(shorter[-1]) >= 2**63 // vocabulary**2:
        raise GradlabError(
            f"There are {len(shorter[-1]):,} contexts of {length - 1} tokens, too many to count longer ones. "
            f"Use an order of {length}."
        )
    tally = _Tally()
    for start in range(length, len(tokens), _CHUNK):
        part = tokens[start - length : start + _CHUNK].astype(np.int64)
        following = part[length:]
        context = np.zeros_like(following)
        for steps, keys in enumerate(shorter, start=1):  # back from the token before
            context = np.searchsorted(keys, context * vocabulary + part[length - steps : -steps])
        tally.add((context * vocabulary + part[:-length]) * vocabulary + following)
    keys, counts = tally.merged()
    contexts, numbers = np.unique(keys // vocabulary, return_inverse=True)
    return Counts(contexts, numbers * vocabulary + keys % vocabulary, counts)


class _Tally:
    """How often each key was added."""

    def __init__(self) -> None:
        self.keys, self.counts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        self.waiting = 0

    def add(self, keys: Keys) -> None:
        unique, counts = np.unique(keys, return_counts=True)
        self.keys.append(unique)
        self.counts.append(counts)
        self.waiting += len(unique)
        # When as many wait as there are: so each is moved a few times only, however many chunks there are.
        if self.waiting >= len(self.keys[0]):
            self.merged()

    def merged(self) -> tuple[Keys, Keys]:
        keys, counts = np.concatenate(self.keys), np.concatenate(self.counts)
        order = np.argsort(keys, kind="stable")  # which merges the sorted runs that it finds
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        totals = np.add.reduceat(counts[order], first) if len(first) else counts
        self.keys, self.counts, self.waiting = [keys[order][first]], [totals], 0
        return self.keys[0], self.counts[0]
