"""DDPM: the chain of the noise, walked back. Ho et al. 2020, arXiv:2006.11239."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch

from gradlab.nn.diffusion import Level, posterior
from gradlab.sampling.diffusion.denoising import Denoise, Noisy


def ddpm(denoise: Denoise, x: Noisy, levels: Sequence[Level]) -> Iterator[Noisy]:
    r"""Each step is drawn from the posterior of the data that the network believes in.

    $$ x_s \sim q(x_s \mid x_t, \hat x_0(x_t)) $$

    Between any two levels: with all steps of a chain it is DDPM, with fewer the same on a part of them. The random
    numbers are torch's.

    >>> from gradlab.nn.diffusion import Flow
    >>> certain = lambda x, level: (torch.full_like(x, 5.0), x)
    >>> *_, end = ddpm(certain, torch.randn(3), Flow().grid(4))
    >>> end
    tensor([5., 5., 5.])
    """
    for noisier, cleaner in pairwise(levels):
        data, _ = denoise(x, noisier)
        step = posterior(noisier, cleaner)
        x = step.mean(data, x)
        if step.std:
            x = x.add(torch.randn_like(x), alpha=step.std)
        yield x
