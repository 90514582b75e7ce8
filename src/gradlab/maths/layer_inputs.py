"""What a layer is given while those before it learn: how far its inputs move, and how noisy batch norm makes them."""

import copy
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor
from gradlab.nn import BatchNorm
from gradlab.nn.divergences import kl_gaussian

_LEAST = 0.1  # of a standard deviation, as a share of their mean: a feature that is nearly constant moves as others do


def distribution_shift(before: Float[Tensor, "n features"], after: Float[Tensor, "n features"]) -> Float[Tensor, ""]:
    r"""How far the distribution of some features has moved: the mean divergence of their normal approximations.

    $$ \frac1d \sum_{i=1}^{d} \mathrm{KL}(N(\mu_i', \sigma_i'^2) \,\Vert\, N(\mu_i, \sigma_i^2)) $$

    >>> x = torch.tensor([[-1.0], [1.0]])
    >>> [round(distribution_shift(x, moved).item(), 4) for moved in (x, x + 2, 2 * x)]
    [0.0, 2.0, 0.8069]
    """
    (mean, std), (new_mean, new_std) = (_moments(tensor(x).double()) for x in (before, after))
    least = (_LEAST * std.mean()).clamp(min=1e-30)
    return kl_gaussian(new_mean, new_std.maximum(least), mean, std.maximum(least)) / mean.numel()


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.mean(0), x.std(0, correction=0)


@torch.no_grad()
def layer_inputs(model: nn.Module, x: Tensor) -> dict[str, Float[Tensor, "n features"]]:
    """What each dense layer of a model but the first is given for some examples, with batch norm as in training.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> {name: inputs.shape for name, inputs in layer_inputs(net, torch.ones(5, 2)).items()}
    {'2': torch.Size([5, 3])}
    """
    model = copy.deepcopy(model).train()  # its running means are those of the training
    inputs: dict[str, Tensor] = {}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            module.register_forward_pre_hook(lambda _, given, name=name: inputs.update({name: given[0].detach()}))
        elif isinstance(module, nn.Dropout):
            module.eval()
    model(x)
    return dict(list(inputs.items())[1:])


def covariate_shift(model: nn.Module, x: Tensor, training: Iterable[object]) -> Float[Tensor, "steps layers"]:
    """How far the inputs of each dense layer have moved since the start, after each step of a training.

    `training` does a step of it whenever its next item is asked for.

    >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> covariate_shift(net, torch.randn(5, 2), range(4)).tolist()  # nothing is learned
    [[0.0], [0.0], [0.0], [0.0]]
    """
    start = layer_inputs(model, x)
    if not start:
        raise GradlabError("The model has no dense layer behind another, whose inputs could move.")
    rows = []
    for _ in training:
        now = layer_inputs(model, x)
        rows.append(torch.stack([distribution_shift(start[name], now[name]) for name in start]))
    return torch.stack(rows)


def batch_norm_noise(
    value: float, batch_size: int, batches: int = 2000, generator: Generator | None = None
) -> tuple[float, float]:
    r"""The mean and the variance, over batches, of what batch norm makes of one number among standard normal ones.

    $$ \mathrm{Var}\, \frac{x - \mu_B}{\sigma_B} \approx \frac1B \left( 1 + \frac{x^2}{2} \right) $$

    An example is seen a little differently in each batch, less so in larger ones: noise that regularises, of a
    deviation of 10 to 14 % of the features' own in batches of 100 and 50.

    >>> noise = [batch_norm_noise(0.0, n, generator=torch.Generator().manual_seed(0))[1] for n in (20, 80)]
    >>> 3 < noise[0] / noise[1] < 5
    True
    """
    if batch_size < 2 or batches < 2:
        raise GradlabError(f"There must be two examples in a batch and two batches, got {batch_size} and {batches}.")
    x = torch.randn(batch_size, batches, generator=generator, dtype=torch.float64)
    x[0] = value
    seen = BatchNorm(batches, affine=False).double().train()(x)[0]  # each column is a batch
    return float(seen.mean()), float(seen.var())
