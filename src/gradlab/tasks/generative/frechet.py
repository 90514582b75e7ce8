r"""How far two sets of features lie apart, each taken for a Gaussian. Heusel et al. 2017, arXiv:1706.08500."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

Matrix = Float64[Tensor, "dim dim"]


def frechet_distance(first: Float[Tensor, "n dim"], second: Float[Tensor, "m dim"]) -> float:
    r"""The squared Fréchet distance (2-Wasserstein) of the Gaussians with the means and covariances of two sets.

    $$ d^2 = |\mu_1 - \mu_2|^2 + \operatorname{tr}\bigl(C_1 + C_2 - 2\,(C_1^{1/2} C_2\, C_1^{1/2})^{1/2}\bigr) $$

    >>> points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> round(frechet_distance(points, points + torch.tensor([3.0, 4.0])), 9)
    25.0
    """
    (mean_1, covariance_1), (mean_2, covariance_2) = gaussian(first), gaussian(second)
    root = symmetric_root(covariance_1)
    shared = _eigenvalues(root @ covariance_2 @ root).sqrt().sum()
    distance = (mean_1 - mean_2).square().sum() + covariance_1.trace() + covariance_2.trace() - 2 * shared
    return max(0.0, distance.item())  # which rounding may take below it


def gaussian(features: Float[Tensor, "n dim"]) -> tuple[Float64[Tensor, " dim"], Matrix]:
    """Mean and covariance (divided by n - 1), in float64: what is left of large numbers must not be their rounding."""
    values = features.double()
    return values.mean(0), values.T.cov().reshape(values.shape[1], values.shape[1])


def symmetric_root(matrix: Matrix) -> Matrix:
    r"""$A^{1/2} = V Λ^{1/2} V^T$ of a symmetric matrix without negative eigenvalues.

    >>> symmetric_root(torch.tensor([[4.0, 0.0], [0.0, 9.0]], dtype=torch.float64)).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    values, vectors = torch.linalg.eigh(matrix)
    root: Matrix = vectors * values.clamp(min=0).sqrt() @ vectors.T
    return root


def _eigenvalues(matrix: Matrix) -> Float64[Tensor, " dim"]:
    """Of a product that is symmetric but for rounding, none below zero."""
    values: Tensor = torch.linalg.eigvalsh((matrix + matrix.T) / 2)
    return values.clamp(min=0)
