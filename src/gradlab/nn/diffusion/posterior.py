"""One step back, where it is known what the data were."""

import math
from typing import Any, NamedTuple

from gradlab.nn.diffusion.levels import Level


class Posterior(NamedTuple):
    """A normal distribution: its mean is a weighted sum of data and of what is noisier, and `std` its deviation."""

    data: float
    noisy: float
    std: float

    def mean(self, data: Any, noisy: Any) -> Any:
        return self.data * data + self.noisy * noisy


def posterior(noisier: Level, cleaner: Level) -> Posterior:
    r"""$q(x_s \mid x_t, x_0)$ of a cleaner level s, given a noisier one t and the data.

    $$ \alpha_{t|s} = \frac{\alpha_t}{\alpha_s}, \quad \sigma_{t|s}^2 = \sigma_t^2 - \alpha_{t|s}^2 \sigma_s^2, \qquad
       \mu = \frac{\alpha_s \sigma_{t|s}^2}{\sigma_t^2} x_0 + \frac{\alpha_{t|s} \sigma_s^2}{\sigma_t^2} x_t, \quad
       \text{variance} = \frac{\sigma_{t|s}^2 \sigma_s^2}{\sigma_t^2} $$

    With s one step before t it is that of DDPM, where σ²_{t|s} is β_t. Ho et al. 2020, arXiv:2006.11239; for any two
    levels, Kingma et al. 2021, arXiv:2107.00630.

    >>> from gradlab.nn.diffusion.processes import Flow
    >>> flow = Flow()
    >>> posterior(flow.level(1.0), flow.level(0.0)).mean(data=3.0, noisy=7.0)
    3.0
    """
    ratio = noisier.alpha / cleaner.alpha
    added = max(0.0, noisier.sigma**2 - ratio**2 * cleaner.sigma**2)
    share = cleaner.sigma**2 / noisier.sigma**2
    return Posterior(cleaner.alpha * added / noisier.sigma**2, ratio * share, math.sqrt(added * share))
