"""Skip connections: ways past a part of a network, by which a deep one starts as if it were shallow."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import ShapeError, block
from gradlab.registry import Count


@block("residual.add", flops="2·n·d², those of F: here an affine map of n vectors of d features", memory="that of F")
class Residual(nn.Module):
    r"""The input and what a module makes of it, added.

    $$ y = x + F(x) $$

    F is `module`. The gradient passes as I + J, with J the Jacobian of F, and so does not vanish where that of F does;
    and with F = 0 the block is the identity. Where F changes the shape, `shortcut` brings x to it: 1×1 convolution, for
    instance. He et al. 2015, arXiv:1512.03385.

    >>> Residual(nn.Identity())(torch.tensor([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """

    module: Callable[[Tensor], Tensor]  # a method, in a model whose layers have names of their own
    shortcut: Callable[[Tensor], Tensor]

    def __init__(self, module: nn.Module, shortcut: nn.Module | None = None):
        super().__init__()
        self.module = module
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*new"]:
        branch: Tensor = self.module(x)
        past: Tensor = self.shortcut(x)
        _want_same_shape("residual.add", branch, past, "give a shortcut that brings x to the shape of module(x)")
        return past + branch


@block(
    "residual.dense",
    flops="2·n·d·h, those of F: here an affine map of n vectors from d to h features",
    memory="that of F",
)
class DenseConnection(nn.Module):
    r"""The input and what a module makes of it, side by side.

    $$ y = (x, F(x)) $$

    F is `module`, and `dim` is the axis, by default that of the channels. In a chain of these, each module sees the
    outputs of all modules before it. Huang et al. 2016, arXiv:1608.06993.

    >>> DenseConnection(nn.ReLU())(torch.tensor([[1.0, -2.0]])).tolist()
    [[1.0, -2.0, 1.0, 0.0]]
    """

    module: Callable[[Tensor], Tensor]

    def __init__(self, module: nn.Module, dim: int = 1):
        super().__init__()
        self.module, self.dim = module, dim

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*wider"]:
        return torch.cat([x, self.module(x)], self.dim)


@block(
    "residual.highway",
    flops="4·n·d², half of them those of H: here an affine map of n vectors of d features",
    memory="O(n·d), and that of H",
)
class Highway(nn.Module):
    r"""A gate, feature by feature, between the input and what a module makes of it.

    $$ y = T(x) \odot H(x) + (1 - T(x)) \odot x, \qquad T(x) = \sigma(W x + b) $$

    H is `module`; W and b are `gate.weight` and `gate.bias`. b starts at `gate_bias`, below 0, so that at first most of
    x passes, through however many layers. Srivastava et al. 2015, arXiv:1505.00387.

    >>> closed = Highway(nn.ReLU(), 2, gate_bias=-100.0)
    >>> closed(torch.tensor([1.0, -2.0])).tolist()
    [1.0, -2.0]
    """

    def __init__(self, module: nn.Module, in_features: Count, gate_bias: float = -2.0):
        super().__init__()
        self.module, self.in_features = module, in_features
        self.gate = nn.Linear(in_features, in_features)
        nn.init.constant_(self.gate.bias, gate_bias)

    def forward(self, x: Float[Tensor, "*batch {self.in_features}"]) -> Float[Tensor, "*batch {self.in_features}"]:
        gate = torch.sigmoid(self.gate(x))
        transformed: Tensor = self.module(x)
        _want_same_shape("residual.highway", transformed, x, "a gate chooses between features of the same shape")
        return gate * transformed + (1 - gate) * x


def _want_same_shape(name: str, branch: Tensor, past: Tensor, advice: str) -> None:
    """Else a size of 1 would be repeated in silence."""
    if branch.shape != past.shape:
        shapes = f"{tuple(branch.shape)} and what passes it {tuple(past.shape)}"
        raise ShapeError(f"{name}: module(x) has shape {shapes}; {advice}.")
