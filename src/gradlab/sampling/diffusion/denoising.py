"""What a network says of noisy data, with or without a class, as data and noise."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.nn.diffusion import Level, Target, reading
from gradlab.sampling.diffusion.replayed import network

Noisy = Any
"""Tensors of a batch of examples; formulas are as good for numbers."""

Denoise = Callable[[Noisy, Level], tuple[Noisy, Noisy]]
"""The data and the noise that are believed to be in noisy data of this level."""


def read_by(said: Callable[[Tensor, Level], Tensor], kind: Target, clip: float | None = None) -> Denoise:
    """A denoiser, made of a network that was trained by one kind of target.

    With `clip`, data are believed to lie between so much and its negative, and noise is what is then left.

    >>> from gradlab.nn.diffusion import Flow
    >>> denoise = read_by(lambda x, level: x, "velocity")
    >>> [part.item() for part in denoise(torch.tensor([4.0]), Flow().level(0.25))]
    [3.0, 7.0]
    """

    def denoise(x: Tensor, level: Level) -> tuple[Tensor, Tensor]:
        answer, part = said(x, level), reading(kind, level)
        data = part.data(x, answer)
        if clip is not None:
            data = data.clamp(-clip, clip)
            return data, (x - level.alpha * data) / level.sigma
        return data, part.noise(x, answer)

    return denoise


class Guided:
    r"""What a network says, moved away from what it says without a class.

    $$ f = f_\varnothing + w (f_c - f_\varnothing) $$

    w is `guidance`: 1 as trained, 0 without classes, more for samples that are more typical of theirs. Both are asked
    for as one batch. `none` is the number that stands for no class; with `narrow` the network computes in bf16. Ho &
    Salimans 2022, arXiv:2207.12598.

    >>> from gradlab.nn.diffusion import Flow
    >>> by_class = lambda x, time, labels: labels.float()
    >>> Guided(by_class, torch.tensor([3, 4]), none=9, guidance=2.0)(torch.zeros(2), Flow().level(0.5))
    tensor([-3., -1.])
    """

    def __init__(
        self,
        model: Callable[..., Tensor],
        labels: Int64[Tensor, " batch"] | None = None,
        *,
        none: int | None = None,
        guidance: float = 1.0,
        narrow: bool = False,
    ) -> None:
        self.model, self.labels, self.guidance, self.narrow = model, labels, guidance, narrow
        self.ask: Callable[[Tensor, float], Tensor] | None = None
        self.twice = labels is not None and none is not None and guidance != 1
        if self.twice:
            assert labels is not None
            assert none is not None
            self.labels = torch.cat([labels, torch.full_like(labels, none)])

    def __call__(self, x: Float[Tensor, "batch *shape"], level: Level) -> Float[Tensor, "batch *shape"]:
        inputs = level.scaled(x)
        inputs = torch.cat([inputs, inputs]) if self.twice else inputs
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.narrow, cache_enabled=False):
            if self.ask is None:  # what is asked once is not asked at every step
                self.ask = network(self.model, inputs, self.labels)
            said = self.ask(inputs, level.time)
        said = said.to(x.dtype)
        if not self.twice:
            return said
        of_class, of_none = said.chunk(2)
        return of_none + self.guidance * (of_class - of_none)
