"""The ordinary differential equation that has the same distributions as the noise, by Euler's and by Heun's steps."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradlab.nn.diffusion import Level
from gradlab.sampling.diffusion.denoising import Denoise, Noisy


def euler(denoise: Denoise, x: Noisy, levels: Sequence[Level]) -> Iterator[Noisy]:
    r"""Straight on, as the network says where a step begins.

    $$ dx = \hat x_0 \, d\alpha + \hat\varepsilon \, d\sigma \quad\approx\quad
       x_s = x_t + (\alpha_s - \alpha_t) \hat x_0 + (\sigma_s - \sigma_t) \hat\varepsilon $$

    On straight paths this is x + (s - t) v, and on any path the step of `ddim`, written in another way.

    >>> from gradlab.nn.diffusion import Flow
    >>> certain = lambda x, level: (5.0, (x - level.alpha * 5) / level.sigma)
    >>> list(euler(certain, 1.0, Flow().grid(4)))
    [2.0, 3.0, 4.0, 5.0]
    """
    for noisier, cleaner in pairwise(levels):
        x = _moved(x, noisier, cleaner, *denoise(x, noisier))
        yield x


def heun(denoise: Denoise, x: Noisy, levels: Sequence[Level]) -> Iterator[Noisy]:
    """Euler's step, done again with the mean of what the network says at both its ends.

    Its error falls with the square of the number of steps, each of which asks the network twice. The last is Euler's:
    where there is no noise left, nothing can be said of it. Karras et al. 2022, arXiv:2206.00364.

    >>> from gradlab.nn.diffusion import Flow
    >>> certain = lambda x, level: (5.0, (x - level.alpha * 5) / level.sigma)
    >>> list(heun(certain, 1.0, Flow().grid(4)))
    [2.0, 3.0, 4.0, 5.0]
    """
    for noisier, cleaner in pairwise(levels):
        data, noise = denoise(x, noisier)
        there = _moved(x, noisier, cleaner, data, noise)
        if cleaner.sigma:
            data_there, noise_there = denoise(there, cleaner)
            there = _moved(x, noisier, cleaner, (data + data_there) / 2, (noise + noise_there) / 2)
        x = there
        yield x


def _moved(x: Noisy, noisier: Level, cleaner: Level, data: Noisy, noise: Noisy) -> Noisy:
    return x + (cleaner.alpha - noisier.alpha) * data + (cleaner.sigma - noisier.sigma) * noise
