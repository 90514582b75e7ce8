"""Initialisation: the numbers that weights start from, filled in where they are.

The weights of a layer have shape (units, inputs, …window). A unit adds up `fan_in` = inputs · window products, and an
input takes part in `fan_out` = units · window of them: by how much a layer makes signals larger or smaller on their way
forward and back is decided by these, and with it what is left after many layers.
"""

import copy
import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.blocks import Family, block, find_block
from gradlab.registry import NonNegative, Part

initialisers = Family("init.{}", makes=object)
"""Those that a model can fill its weights with."""


@block("init.zeros", flops="0", memory="0")
def zeros_(tensor: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""All zeros: for biases, and not for weights.

    $$ W = 0 $$

    Units that start equal get equal gradients, and stay equal. In a network with ReLU or tanh all hidden outputs are 0,
    so that no gradient reaches any weight at all: only the last bias learns.

    >>> zeros_(torch.ones(2)).tolist()
    [0.0, 0.0]
    """
    return nn.init.zeros_(tensor)


@block("init.uniform", flops="O(n)", memory="0")
def uniform_(
    tensor: Float[Tensor, "*shape"],
    a: Annotated[float, "the least"] = -1.0,
    b: Annotated[float, "the largest"] = 1.0,
    generator: Generator | None = None,
) -> Float[Tensor, "*shape"]:
    r"""Numbers spread evenly from a to b, by default from -1 to 1, where torch has 0 to 1.

    $$ w \sim U(a, b), \qquad \mathrm{Var}\, w = \frac{(b - a)^2}{12} $$

    >>> bool((uniform_(torch.empty(100), -2, 2).abs() <= 2).all())
    True
    """
    if not a <= b:
        raise GradlabError(f"init.uniform: a must not be larger than b, got {a} and {b}.")
    return nn.init.uniform_(tensor, a, b, generator)


@block("init.normal", flops="O(n)", memory="0")
def normal_(
    tensor: Float[Tensor, "*shape"],
    mean: Annotated[float, "of the numbers"] = 0.0,
    std: Annotated[NonNegative, "of the numbers"] = 1.0,
    generator: Generator | None = None,
) -> Float[Tensor, "*shape"]:
    r"""Normal numbers of one size, whatever the layer.

    $$ w \sim N(\mu, s^2) $$

    Each layer multiplies the variance of a signal by s² · fan_in, and an activation takes its share. With s = 0.1, a
    signal dies in a deep network of 10 units a layer, and saturates tanh in one of 1000.

    >>> normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    return nn.init.normal_(tensor, mean, std, generator)


Distribution = Annotated[Literal["normal", "uniform"], "of the numbers"]
Gain = Annotated[float, "what makes up for the activation"]


@block("init.xavier", flops="O(n)", memory="0")
def xavier_(
    tensor: Float[Tensor, "units inputs *window"],
    gain: Gain = 1.0,
    distribution: Distribution = "normal",
    generator: Generator | None = None,
) -> Float[Tensor, "units inputs *window"]:
    r"""Numbers of a size between the one that keeps signals forward, and the one that keeps gradients back.

    $$ \mathrm{Var}\, w = \frac{2 \, g^2}{n_\text{in} + n_\text{out}} $$

    The n are fan_in and fan_out. g is `gain`, which makes up for the activation (see `gain_of`). Glorot & Bengio 2010,
    proceedings.mlr.press/v9/glorot10a.

    >>> round(xavier_(torch.empty(1000, 500)).std().item(), 3)  # √(2 / 1500)
    0.037
    """
    fan_in, fan_out = fans(tensor)
    return _spread(tensor, gain * math.sqrt(2 / max(1, fan_in + fan_out)), distribution, generator)


@block("init.he", flops="O(n)", memory="0")
def he_(
    tensor: Float[Tensor, "units inputs *window"],
    gain: Gain = 2**0.5,
    distribution: Distribution = "normal",
    generator: Generator | None = None,
) -> Float[Tensor, "units inputs *window"]:
    r"""Numbers of the size that keeps the variance of signals through any number of layers.

    $$ \mathrm{Var}\, w = \frac{g^2}{n_\text{in}} $$

    n is fan_in, and g is `gain` (see `gain_of`): √2 for ReLU, which drops half of a signal's square. He et al. 2015,
    arXiv:1502.01852.

    >>> round(he_(torch.empty(500, 1000)).std().item(), 3)  # √(2 / 1000)
    0.045
    """
    fan_in, _ = fans(tensor)
    return _spread(tensor, gain / math.sqrt(max(1, fan_in)), distribution, generator)


@block("init.orthogonal", flops="O(n³)", memory="0")
def orthogonal_(
    tensor: Float[Tensor, "units inputs *window"], gain: Gain = 1.0, generator: Generator | None = None
) -> Float[Tensor, "units inputs *window"]:
    r"""A random rotation: orthonormal rows, or columns if there are fewer of them, times a gain.

    $$ W W^\top = g^2 I \quad \text{or} \quad W^\top W = g^2 I $$

    A square one keeps every length, exactly and not in the mean. The axes after the first are taken as one. Saxe et al.
    2013, arXiv:1312.6120.

    >>> w = orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
    True
    """
    wide = torch.empty_like(tensor, dtype=torch.promote_types(tensor.dtype, torch.float32))
    nn.init.orthogonal_(wide, gain, generator)
    with torch.no_grad():
        return tensor.copy_(wide)  # there is no QR decomposition in half precision


def fans(tensor: Float[Tensor, "units inputs *window"]) -> tuple[int, int]:
    """How many products a unit adds up, and in how many an input takes part.

    >>> fans(torch.empty(8, 3, 5, 5))
    (75, 200)
    """
    units, inputs, *window = tensor.shape
    return inputs * math.prod(window), units * math.prod(window)


def _spread(tensor: Tensor, std: float, distribution: Distribution, generator: Generator | None) -> Tensor:
    """Numbers of mean 0 and this standard deviation."""
    if distribution == "normal":
        return nn.init.normal_(tensor, 0.0, std, generator)
    return nn.init.uniform_(tensor, -math.sqrt(3) * std, math.sqrt(3) * std, generator)


def fill_weights(model: nn.Module, part: Part | None) -> nn.Module:
    """The model, its matrices and kernels filled in as the part says; with none, it is left as it is."""
    if part is not None:
        fill = initialisers.build(part)
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                fill(parameter)
    return model


def gain_of(activation: str | Callable[[Tensor], Tensor]) -> float:
    r"""What weights are multiplied with to make up for an activation: a name (`relu`), a module or a function.

    $$ g = \frac{1}{\sqrt{\mathbb{E} \, f(z)^2}}, \qquad z \sim N(0, 1) $$

    With it a signal of variance 1 before an activation has variance 1 before the next. `nn.init.calculate_gain` has the
    same for ReLU and leaky ReLU, 5/3 for tanh, where this is 1.593, and 1 for sigmoid, where this is 1.847.

    >>> [round(gain_of(name), 4) for name in ("identity", "relu", "tanh")]
    [1.0, 1.4142, 1.5925]
    """
    function = find_block(f"activation.{activation}")() if isinstance(activation, str) else activation
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function).double()
    nodes, weights = np.polynomial.legendre.leggauss(100)
    z = 6 * (nodes + 1)  # from 0 to 12: beyond, the density is below 1e-31
    density = torch.from_numpy(6 * weights * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    with torch.no_grad():  # each side of 0 by itself, since many activations have a kink there
        squares = [function(torch.from_numpy(side)).square() @ density for side in (z, -z)]
    return 1 / math.sqrt(float(squares[0] + squares[1]))


@torch.no_grad()
def variance_through(
    fill: Callable[[Tensor], object],
    activation: Callable[[Tensor], Tensor],
    depth: int = 50,
    width: int = 256,
    examples: int = 16,
) -> Float[Tensor, " depth"]:
    r"""The mean square of a signal at each layer of a network whose weights `fill` has filled in.

    $$ z_{l+1} = W_l \, f(z_l), \qquad z_0 \sim N(0, 1) $$

    >>> layers = variance_through(lambda w: normal_(w, std=0.01), nn.Tanh(), depth=10)
    >>> bool(layers[-1] < 1e-10)  # the signal has died
    True
    """
    z = torch.randn(width, examples, dtype=torch.float64)
    squares = []
    for _ in range(depth):
        weight = torch.empty(width, width, dtype=torch.float64)
        fill(weight)
        z = weight @ activation(z)
        squares.append(z.square().mean())
    return torch.stack(squares)
