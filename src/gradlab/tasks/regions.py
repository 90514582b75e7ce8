"""Whether a model looks at what it names: how much of its attention falls into the box of a thing."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import nn

from gradlab.data import PairedExamples, Tokenizer
from gradlab.data.batch import sent
from gradlab.data.pairs.raw import Region
from gradlab.data.pairs.sentences import Sentences
from gradlab.models.seq2seq import EncoderDecoderModel, RegionEncoder
from gradlab.tasks.evaluation import device_of, inference

_ROWS = 64
Weights = npt.NDArray[np.float32]


class AttentionOnShape(NamedTuple):
    """Means over the words that name a thing in a picture, each with the true words before it."""

    mass: float
    """The share of the attention within the box of the thing."""

    area: float
    """The share of the picture that is within the box: what a model would have that looks everywhere alike."""

    ratio: float
    words: int

    def __str__(self) -> str:
        return (
            f"Over {self.words:,} words that name a shape, {self.mass:.1%} of the attention lies within its box, which "
            f"is {self.area:.1%} of the picture: {self.ratio:.1f} times as much as by chance."
        )


def attention_on_shape(model: nn.Module, split: PairedExamples, text: Sentences) -> AttentionOnShape | None:
    """None where nothing is known of what is in the pictures, or the model does not look at them."""
    if split.regions is None or not isinstance(model, EncoderDecoderModel):
        return None
    if not isinstance(model.encoder, RegionEncoder):
        return None
    shares: list[tuple[float, float]] = []
    device, size = device_of(model), (int(split.inputs.shape[-2]), int(split.inputs.shape[-1]))
    with inference(model):
        for start in range(0, len(split), _ROWS):
            rows = slice(start, start + _ROWS)
            x, y = (sent(part[rows], device) for part in (split.inputs, split.targets))
            weights = model.alignment(x, y[:, :-1])
            if weights is None:
                return None
            maps = weights.reshape(*weights.shape[:2], *model.encoder.grid).float().cpu().numpy()
            for row, looked in zip(split.rows[rows], maps, strict=True):
                tokens = spans(text.encoder, str(split.references[row]))
                shares += [share for region in split.regions[row] for share in _shares(region, tokens, looked, size)]
    if not shares:
        return None
    mass, area = (float(mean) for mean in np.mean(shares, 0))
    return AttentionOnShape(mass, area, mass / area, len(shares))


def _shares(
    region: Region, tokens: Sequence[slice], looked: Weights, size: tuple[int, int]
) -> list[tuple[float, float]]:
    """Of each token that names a thing: the attention within its box, and the part of the picture that this is."""
    cover = covered(region.box, (looked.shape[1], looked.shape[2]), size)
    naming = [i for i, token in enumerate(tokens) if _overlap(token, region.characters)]
    # A token is chosen where the one before it is read: the first of a text where that which begins it is.
    return [(float((looked[i] * cover).sum()), float(cover.mean())) for i in naming]


def covered(box: tuple[int, int, int, int], grid: tuple[int, int], size: tuple[int, int]) -> npt.NDArray[np.float64]:
    """The share of each cell of a picture that lies within a box.

    >>> covered((0, 1, 3, 2), grid=(2, 2), size=(4, 4)).tolist()
    [[0.5, 0.25], [0.0, 0.0]]
    """
    left, top, right, bottom = box
    down, across = _along(top, bottom, grid[0], size[0]), _along(left, right, grid[1], size[1])
    return down[:, None] * across


def _along(start: int, stop: int, cells: int, pixels: int) -> npt.NDArray[np.float64]:
    ends = np.linspace(0, pixels, cells + 1)
    inside: npt.NDArray[np.float64] = np.minimum(ends[1:], stop) - np.maximum(ends[:-1], start)
    return inside.clip(0) / np.diff(ends)


def _overlap(one: slice, other: slice) -> bool:
    return bool(max(one.start, other.start) < min(one.stop, other.stop))


def spans(tokenizer: Tokenizer, text: str) -> list[slice]:
    """The characters of a text that each of its tokens stands for."""
    return [slice(*offsets) for offsets in tokenizer.inner.encode(text, add_special_tokens=False).offsets]
