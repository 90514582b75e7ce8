"""DPM-Solver++(2M): good samples in few steps. Lu et al. 2022, arXiv:2211.01095."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gradlab.nn.diffusion import Level
from gradlab.sampling.diffusion.denoising import Denoise, Noisy


def dpm(denoise: Denoise, x: Noisy, levels: Sequence[Level]) -> Iterator[Noisy]:
    r"""Along λ = log α/σ, in which the data that the network believes in move almost evenly.

    $$ h = \lambda_s - \lambda_t, \qquad D = \hat x_0 + \frac{h}{2 h'} (\hat x_0 - \hat x_0'), \qquad
       x_s = \frac{\sigma_s}{\sigma_t} x_t - \alpha_s (e^{-h} - 1) D $$

    where ′ marks the step before. The first step, and the last, at whose end there is no noise, have D = x̂₀.

    >>> from gradlab.nn.diffusion import VP
    >>> certain = lambda x, level: (x * 0 + 5.0, x)
    >>> *_, end = dpm(certain, 1.0, VP().grid(4))
    >>> end
    5.0
    """
    before, previous = None, 0.0
    for noisier, cleaner in pairwise(levels):
        data, _ = denoise(x, noisier)
        length = _log_ratio(cleaner) - _log_ratio(noisier)
        # A step from pure noise is as long as any, and tells nothing of the slope.
        bent = before is not None and math.isfinite(length) and math.isfinite(previous)
        ahead = data + length / (2 * previous) * (data - before) if bent else data
        x = cleaner.sigma / noisier.sigma * x - cleaner.alpha * math.expm1(-length) * ahead
        before, previous = data, length
        yield x


def _log_ratio(level: Level) -> float:
    """λ"""
    if not level.alpha or not level.sigma:
        return math.inf if level.alpha else -math.inf
    return math.log(level.alpha / level.sigma)
