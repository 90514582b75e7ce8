"""Batches that come from any iterable, such as a DataLoader: read again from the start by a resumed training."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from gradlab import parallel
from gradlab.data import generators
from gradlab.data.batch import Batch, as_batch, describe_shapes, moved, parted, size
from gradlab.data.hashing import key
from gradlab.data.streams import Stream
from gradlab.errors import GradlabError


class Iterated(Stream):
    """Pass after pass over an iterable of batches; one that can be read only once makes a single pass.

    Its position cannot be saved. So a resumed training reads the pass it was in again, from its beginning, and leaves
    out what it has seen: the batches are the same where they depend on nothing but the iterable and on generators of
    torch, NumPy and Python, which are seeded by (seed, pass) while a batch is made.
    """

    def __init__(self, batches: Any, seed: int, steps: int | None, device: torch.device):
        self.source, self.seed, self.device = batches, seed, device
        self.length = _length(batches)
        if self.length == 0:
            raise GradlabError("There are no batches in the data.")
        if self.length is None and steps is None:
            raise GradlabError("The data do not say how many batches they have. Say how long to train: steps=1000.")
        self.steps_per_epoch = self.length or steps or 1
        self.once = iter(batches) is batches
        self.batch_size = getattr(batches, "batch_size", None) or 0
        self.first: Batch | None = None
        self.latest: Batch | None = None

    def peek(self) -> Batch:
        """The first batch, which is not lost by that."""
        if not self.once:
            first = next(self.batches(0), None)
        else:
            value = next(iter(self.source), None)
            self.source = chain([] if value is None else [value], self.source)
            first = None if value is None else moved(as_batch(value), self.device)
        if first is None:
            raise GradlabError("There are no batches in the data.")
        size(first)
        self.first = first
        return first

    def batches(self, step: int) -> Iterator[Batch]:
        epoch, position = divmod(step, self.steps_per_epoch) if self.length else (0, step)
        while True:
            count = 0
            for batch in islice(self._drawn(epoch), position, None):
                count += 1
                yield batch
            if self.once or not count + position:
                return
            epoch, position = epoch + 1, 0

    def _drawn(self, epoch: int) -> Iterator[Batch]:
        """The batches of a pass. Generators are those of the iterable while it works, and the training's otherwise."""
        with generators.kept():
            generators.seed(key(self.seed, epoch, 5))
            state = generators.states()
        iterator: Iterator[Any] | None = None
        while True:
            with generators.kept():
                generators.restore(state)
                iterator = iter(self.source) if iterator is None else iterator
                value = next(iterator, None)
                state = generators.states()
            if value is None:
                return
            batch = self.latest = moved(as_batch(value), self.device)
            size(batch)
            yield batch if parallel.count() == 1 else list(parted(batch, parallel.count()))[parallel.rank()]


def _length(batches: Any) -> int | None:
    """How many batches there are, where that is known; a DataLoader may have a length that it cannot tell."""
    try:
        return len(batches)
    except TypeError:
        return None


class Batches:
    """A split that is an iterable of batches: for evaluation, which reads all of it each time."""

    in_batches = True  # which its length counts

    def __init__(self, batches: Any, device: torch.device):
        if not _length(batches) or iter(batches) is batches:
            raise GradlabError(
                "Validation data must have a length, more than 0, and be readable again and again: a DataLoader or a "
                "list of batches."
            )
        self.source, self.device = batches, device
        self.parts: dict[str, Any] = {}
        self.carries = False
        self.first: Batch | None = None
        self.latest: Batch | None = None

    def peek(self) -> Batch:
        """The first batch."""
        self.first = next(self.batches(0))
        size(self.first)
        return self.first

    def __len__(self) -> int:
        return len(self.source)

    def batches(self, rows: int) -> Iterator[Batch]:
        with generators.kept():
            generators.seed(0)
            for value in self.source:
                self.latest = moved(as_batch(value), self.device)
                yield self.latest


def difference_from_first(split: Any) -> str:
    """How the batch that was read last differs from the first one in names, shapes or types; empty where it does not.

    The number of examples may differ.
    """
    first, latest = getattr(split, "first", None), getattr(split, "latest", None)
    if first is None or latest is None or _kind(first) == _kind(latest):
        return ""
    return f"A batch has {describe_shapes(latest)}, where the first one has {describe_shapes(first)}."


def _kind(batch: Batch) -> Any:
    return pytree.tree_map(lambda t: (t.shape[1:], t.dtype) if isinstance(t, Tensor) else type(t), batch)
