"""Samples of which a part is known."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gradlab.nn.diffusion import Level
from gradlab.sampling.diffusion.denoising import Denoise

Sampler = Callable[[Denoise, Tensor, Sequence[Level]], Iterator[Tensor]]


def inpainted(
    sampler: Sampler,
    denoise: Denoise,
    x: Float[Tensor, "batch *shape"],
    levels: Sequence[Level],
    known: Float[Tensor, "batch *shape"],
    mask: Bool[Tensor, "batch *shape"],
    repeats: int = 1,
) -> Iterator[Float[Tensor, "batch *shape"]]:
    r"""The steps of a sampler, with what is `known` where the `mask` is true: noised to each level, and at last clean.

    $$ x_s \leftarrow m \, (\alpha_s x_0 + \sigma_s \varepsilon) + (1 - m) \, x_s $$

    Each step is done so many times, with noise added in between, by which the two parts come to fit each other. Lugmayr
    et al. 2022 (RePaint), arXiv:2201.09865. A sampler that remembers steps, as `dpm` does, starts anew with each.

    >>> from gradlab.nn.diffusion import Flow
    >>> from gradlab.sampling.diffusion.heun import euler
    >>> certain = lambda x, level: (torch.full_like(x, 5.0), (x - level.alpha * 5) / level.sigma)
    >>> noise, known = torch.randn(2), torch.tensor([1.0, 2.0])
    >>> *_, end = inpainted(euler, certain, noise, Flow().grid(4), known, torch.tensor([True, False]))
    >>> end
    tensor([1., 5.])
    """
    for noisier, cleaner in pairwise(levels):
        for again in range(repeats):
            if again:
                x = _noised(x, cleaner, noisier)
            x = torch.where(mask, noisier.mixed(known, torch.randn_like(x)), x)
            (x,) = sampler(denoise, x, [noisier, cleaner])
        yield torch.where(mask, known, x) if cleaner.sigma == 0 else x


def _noised(x: Tensor, cleaner: Level, noisier: Level) -> Tensor:
    """One step of the noise forward."""
    ratio = noisier.alpha / cleaner.alpha
    added = max(0.0, noisier.sigma**2 - ratio**2 * cleaner.sigma**2) ** 0.5
    noised: Tensor = ratio * x + added * torch.randn_like(x)
    return noised
