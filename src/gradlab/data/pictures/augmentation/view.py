"""Training pictures as an epoch sees them; whoever does not read an epoch, as every evaluation, has them plain."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.data.batch import Batch, sent
from gradlab.data.examples import Examples
from gradlab.data.hashing import key, mixed
from gradlab.data.pictures.augmentation.colour import Units
from gradlab.data.pictures.augmentation.draws import numbers, uniform
from gradlab.data.pictures.augmentation.mixing import mixed_targets
from gradlab.data.pictures.augmentation.seen import Drawn, seen
from gradlab.data.pictures.augmentation.seen import mixed as mixed_pictures
from gradlab.data.pictures.augmentation.settings import Augmentation
from gradlab.data.preprocessing import Preprocessing

Rows = Int64[Tensor, " rows"]

# These keep the draws apart from those of the order, the windows, the masks and other views.
_EPOCH, _FIRST, _PARTNER = 5, 6, 7


@dataclass(frozen=True, repr=False)
class Augmented(Examples):
    """Pictures that are drawn anew in each epoch, each by a key of (seed, epoch, its row in the source).

    So an example looks the same in a resumed run, in any batch and in any process. What it is mixed with is any
    example of the split, as that one looks in this epoch, and follows from its key too: not from its batch.
    """

    settings: Augmentation = field(kw_only=True)
    units: Units = field(kw_only=True)
    classes: int | None = field(default=None, kw_only=True)
    epoch: tuple[int, int] | None = field(default=None, kw_only=True)
    """The seed and the number of the epoch that is read."""

    @classmethod
    def over(
        cls, examples: Examples, settings: Augmentation, preprocessing: Preprocessing, classes: int | None
    ) -> "Augmented":
        settings.check(preprocessing.spec)
        channels = preprocessing.output_shape[0]
        shift, scale = preprocessing.shift or [0.0] * channels, preprocessing.scale or [1.0] * channels
        units = Units(*(torch.tensor(part, dtype=torch.float32).view(-1, 1, 1) for part in (shift, scale)))
        return cls(examples.parts, examples.rows, settings=settings, units=units, classes=classes)

    def for_epoch(self, seed: int, epoch: int) -> "Augmented":
        return replace(self, epoch=(seed, epoch))

    def select(self, rows: Rows, here: Rows) -> Batch:
        batch, drawn = self._seen(rows, here)
        if drawn is None or not self.settings.mixes:
            return batch
        partners = self._partners(here)
        others, _ = self._seen(sent(partners, self.device), partners)
        inputs, share = mixed_pictures(batch["inputs"], others["inputs"], drawn, self.settings)
        targets = mixed_targets(batch["targets"], others["targets"], share, self.classes)
        return {**batch, "inputs": inputs, "targets": targets}

    def _seen(self, rows: Rows, here: Rows) -> tuple[Batch, Drawn | None]:
        batch = super().select(rows, here)
        if self.epoch is None:
            return batch, None
        seed, epoch = self.epoch
        number = self._numbers[rows]
        drawn = Drawn.by(mixed(number ^ key(seed, epoch, _EPOCH)))
        flip = drawn.flip
        if self.settings.flip == "alternating":
            flip = (uniform(mixed(number ^ key(seed, _FIRST)), 1)[0] + epoch % 2 / 2) % 1
        return {**batch, "inputs": seen(batch["inputs"], drawn, flip, self.settings, self._units)}, drawn

    def _partners(self, here: Rows) -> Rows:
        """What each is mixed with, on the host, where some columns are read."""
        assert self.epoch is not None
        keys = torch.from_numpy(self.rows)[here] ^ key(*self.epoch, _PARTNER)
        return numbers(mixed(keys), 1)[0] % len(self)

    @cached_property
    def _numbers(self) -> Rows:
        return sent(torch.from_numpy(self.rows), self.device)

    @cached_property
    def _units(self) -> Units:
        return self.units.to(self.device)
