"""Where the batches of a training come from, by the number of the step: a stopped training reads on where it was."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from gradlab.data.batch import Batch, sent
from gradlab.data.examples import Examples

# So many bytes of training data are put in an epoch's order at once: a slice costs less than a gather a batch, and what
# is done to the examples on their way costs a few launches for many batches.
# On the CPU fresh memory costs page faults, so that this pays only for what fits into a cache.
_GATHERED = {"cpu": 2**22, "cuda": 2**28}


class Stream:
    """The batches of a training.

    Batch s must be the same whenever step s comes: as a function of s, or by the state in `snapshot`, which is taken
    between two steps and holds numbers, text and tensors. What it draws comes from torch's generators, whose states are
    in every checkpoint, or from generators of its own that are seeded by the step.
    """

    device: torch.device = torch.device("cpu")

    steps_per_epoch: int
    """Batches of one pass over the data; where they have no end, the length of the training."""

    batch_size: int = 0
    """Examples in most batches, where that is known."""

    model: nn.Module
    """The one that is trained, once there is a training: what acts in an environment acts by it."""

    def start(self, model: nn.Module) -> None:
        """Before the first batch."""
        self.model = model

    def planned(self, batch_size: int | str, seed: int) -> "Stream":
        """The same in batches of a plan's size and by its seed; one whose batches come ready is left as it is."""
        return self

    def to(self, device: torch.device) -> "Stream":
        """The same, its batches on a device."""
        self.device = device
        return self

    def peek(self) -> Batch | None:
        """The first batch, if it can be had before its time and is not lost by that."""
        return None

    def batches(self, step: int) -> Iterator[Batch]:
        """The batch of this step (the first is 0) and of all after it."""
        raise NotImplementedError(f"{type(self).__name__} gives no batches: write `batches`.")

    def figures(self) -> dict[str, float]:
        """What a log line says beside the losses, of all that was read since the last."""
        return {}

    def snapshot(self) -> dict[str, Any]:
        """What the next batch depends on beside its number and torch's generators."""
        return {}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Stand where the snapshot was taken."""


class Epochs(Stream):
    """Pass after pass over examples, each in an order of its own that is a pure function of (seed, epoch).

    So the position in the data is the step. `part` of (rank, count) leaves to each of several processes its rows of
    every batch.
    """

    def __init__(
        self, examples: Examples, batch_size: int, sizes: Sequence[int], seed: int, part: tuple[int, int] = (0, 1)
    ):
        """`sizes` are those of an epoch's batches, of which the last may differ from `batch_size`."""
        self.examples, self.batch_size, self.sizes, self.seed, self.part = examples, batch_size, sizes, seed, part
        self.device, self.steps_per_epoch = examples.device, len(self.sizes)

    def batches(self, step: int) -> Iterator[Batch]:
        while True:
            epoch, position = divmod(step, self.steps_per_epoch)
            yield from islice(self.epoch(epoch), position, None)
            step += self.steps_per_epoch - position

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """The batches of one pass."""
        examples = self.examples.for_epoch(self.seed, epoch)
        order, sizes = self.order(epoch), list(self.sizes)
        if self.part[1] > 1:
            rank, count = self.part
            shares = [rows.tensor_split(count)[rank] for rows in torch.split(order, sizes)]
            order, sizes = torch.cat(shares), [len(share) for share in shares]
        here, order = order, sent(order, self.device)
        several = self._at_once(examples)
        groups = [sizes[i : i + several] for i in range(0, len(sizes), several)]
        rows = [sum(group) for group in groups]
        return chain.from_iterable(
            map(_cut, map(examples.select, torch.split(order, rows), torch.split(here, rows)), groups)
        )

    def _at_once(self, examples: Examples) -> int:
        """How many batches are read together."""
        limit, size = _GATHERED.get(self.device.type, 0), examples.nbytes
        if not examples.together or (
            size > limit and any(getattr(p, "on_host", False) for p in examples.parts.values())
        ):
            return 1
        return len(self.sizes) if size <= limit else max(1, len(self.sizes) * limit // size)

    def order(self, epoch: int) -> Int64[Tensor, " rows"]:
        return self.examples.order(self.seed, epoch, self.batch_size)


def _cut(batch: Batch, sizes: list[int]) -> Iterator[Batch]:
    """Into batches of these sizes; one is left as it is."""
    if len(sizes) == 1:
        return iter([batch])
    parts = zip(*(torch.split(part, sizes) for part in batch.values()), strict=True)
    return (dict(zip(batch, part, strict=True)) for part in parts)
