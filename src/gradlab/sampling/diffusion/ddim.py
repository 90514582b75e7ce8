"""DDIM: the noise that the network sees is kept for the next level. Song et al. 2020, arXiv:2010.02502."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch

from gradlab.nn.diffusion import Level, posterior
from gradlab.sampling.diffusion.denoising import Denoise, Noisy


def ddim(denoise: Denoise, x: Noisy, levels: Sequence[Level], eta: float = 0.0) -> Iterator[Noisy]:
    r"""The data that the network believes in, with its noise again, of which η says how much is fresh.

    $$ x_s = \alpha_s \hat x_0 + \sqrt{\sigma_s^2 - \tilde\sigma^2} \, \hat\varepsilon + \tilde\sigma \xi, \qquad
       \tilde\sigma = \eta \, \text{std of } q(x_s \mid x_t, x_0) $$

    With η = 0 nothing is drawn, so that the same noise gives the same sample; with η = 1 it is `ddpm`.

    >>> from gradlab.nn.diffusion import Flow
    >>> certain = lambda x, level: (torch.full_like(x, 5.0), (x - level.alpha * 5) / level.sigma)
    >>> [x.item() for x in ddim(certain, torch.tensor(1.0), Flow().grid(4))]
    [2.0, 3.0, 4.0, 5.0]
    """
    for noisier, cleaner in pairwise(levels):
        data, noise = denoise(x, noisier)
        fresh = eta * posterior(noisier, cleaner).std if eta else 0.0
        x = cleaner.alpha * data + math.sqrt(max(0.0, cleaner.sigma**2 - fresh**2)) * noise
        if fresh:
            x = x.add(torch.randn_like(x), alpha=fresh)
        yield x
