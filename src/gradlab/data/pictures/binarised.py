"""Grey pixels drawn as black or white: each picture by a hash of its key, the same bits on every device."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.data.batch import sent
from gradlab.data.examples import Examples, Rows
from gradlab.data.hashing import key, mixed
from gradlab.data.preprocessing import Method
from gradlab.errors import GradlabError
from gradlab.specs import Picture, Spec

Binarise = Literal["none", "once", "epoch"]

_STEP = -0x61C8864680B583EB  # 2⁶⁴ divided by the golden ratio, as SplitMix64 steps from number to number
_BITS, _PER_HASH = 21, 3  # a hash has 63 bits: enough for three pixels, to within 2⁻²¹ of their probabilities
_EPOCH, _ONCE = 8, 9  # these keep the draws apart from those of the order, the windows, the masks and other views
_CHUNK = 2**22  # pixels that are drawn together, where all of them are


def drawn(grey: Float[Tensor, "rows *shape"], rows: Int64[Tensor, " rows"], draw: int) -> Float[Tensor, "rows *shape"]:
    r"""Independent Bernoulli variables with the pixels for probabilities.

    $$ P(x_i = 1) = p_i $$

    A picture is drawn by the number of its row in the source and the key of the draw, whatever else is in the batch.

    >>> drawn(torch.tensor([[0.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]]), torch.tensor([3]), 1)
    tensor([[0., 1., 1., 1., 1., 1., 0., 0.]])
    """
    pixels = grey.flatten(1)
    hashes = -(-pixels.shape[1] // _PER_HASH)
    steps = torch.arange(1, hashes + 1, device=grey.device) * _STEP
    words = mixed(mixed(rows ^ draw)[:, None] + steps)
    numbers = torch.cat([(words >> shift) & (2**_BITS - 1) for shift in range(0, _BITS * _PER_HASH, _BITS)], 1)
    # Whole numbers of 21 bits and 2²¹ p are exact in float32.
    white: Tensor = numbers[:, : pixels.shape[1]] < pixels * 2**_BITS
    return white.to(grey.dtype).view(grey.shape)


class Drawn:
    """A column of grey pictures, drawn as they are asked for."""

    def __init__(self, grey: Any, rows: Int64[Tensor, " rows"], draw: int):
        self.grey, self.rows, self.draw = grey, rows, draw
        self.on_host = getattr(grey, "on_host", False)

    def __len__(self) -> int:
        return len(self.grey)

    @property
    def shape(self) -> torch.Size:
        return self.grey.shape  # type: ignore[no-any-return]

    @property
    def device(self) -> torch.device:
        return self.grey.device  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return int(self.grey.nbytes)

    def __getitem__(self, chosen: Any) -> Tensor:
        return drawn(self.grey[chosen], sent(self.rows[chosen], self.device), self.draw)

    def index_select(self, axis: int, chosen: Tensor) -> Tensor:
        assert axis == 0
        return drawn(self.grey.index_select(0, chosen), sent(self.rows[chosen], self.device), self.draw)

    def subset(self, chosen: Rows) -> "Drawn":
        grey = self.grey[chosen] if isinstance(self.grey, Tensor) else self.grey.subset(chosen)
        return Drawn(grey, self.rows[chosen], self.draw)

    def to(self, device: torch.device) -> "Drawn":
        # Where pictures are read on the host, so are the numbers of their rows.
        return Drawn(self.grey.to(device), self.rows if self.on_host else self.rows.to(device), self.draw)

    def by(self, draw: int) -> "Drawn":
        """The same pictures drawn otherwise."""
        return Drawn(self.grey, self.rows, draw)

    def settled(self) -> Any:
        """All of them drawn now, if they are in memory: what stays the same need be drawn once."""
        if self.on_host:
            return self
        rows = max(1, _CHUNK // max(1, self.shape[1:].numel()))
        return torch.cat([self[start : start + rows] for start in range(0, max(1, len(self)), rows)])


@dataclass(frozen=True, repr=False)
class Binarised(Examples):
    """Training pictures whose pixels are drawn anew in each epoch, by (seed, epoch, row of the source).

    Whoever does not read an epoch, as every evaluation, has them as they are drawn once.
    """

    def for_epoch(self, seed: int, epoch: int) -> "Binarised":
        return self.but(inputs=self.inputs.by(key(seed, epoch, _EPOCH)))


def binarised(examples: Examples, each_epoch: bool) -> Examples:
    """Examples with their pictures drawn, once or in each epoch."""
    column = Drawn(examples.inputs, torch.from_numpy(examples.rows), key(_ONCE))
    if each_epoch:
        return Binarised({**examples.parts, "inputs": column}, examples.rows)
    return examples.but(inputs=column.settled())


def check_grey(spec: Spec, preprocess: Method, augmented: bool) -> None:
    """Refuse what cannot be taken for probabilities of white pixels."""
    if not isinstance(spec, Picture):
        raise GradlabError(f"data.binarise is for pictures, but the examples are {spec}. Leave it out.")
    if preprocess != "scale":
        raise GradlabError(
            f"data.binarise takes pixels for probabilities, which data.preprocess={preprocess} does not bring between "
            "0 and 1. Set data.preprocess=scale."
        )
    if augmented:
        raise GradlabError("data.binarise and data.augment cannot be set together. Leave out one of them.")
