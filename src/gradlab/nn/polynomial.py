"""Powers of the inputs, so that a linear map of them is a polynomial."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class PolynomialFeatures(nn.Module):
    r"""Each input beside its powers, without products of different inputs.

    $$ \phi(x) = (x, x^2, \dots, x^p) $$

    >>> PolynomialFeatures(3)(torch.tensor([[2.0, -1.0]])).tolist()
    [[2.0, -1.0, 4.0, 1.0, 8.0, -1.0]]
    """

    def __init__(self, degree: int):
        super().__init__()
        self.degree = degree

    def forward(self, x: Float[Tensor, "batch features"]) -> Float[Tensor, "batch powers"]:
        return torch.cat([x**power for power in range(1, self.degree + 1)], dim=1)
