"""Symmetric matrices by their eigenvectors, and points by their principal axes."""

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import takes_arrays, tensor

_ASYMMETRY = 1e-6  # of the largest entry


@takes_arrays
def spectrum(
    matrix: Float[Tensor, "*batch n n"],
) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n n"]]:
    r"""The eigenvalues of a symmetric matrix, the largest first, and its eigenvectors as columns.

    $$ A = V \, \mathrm{diag}(\lambda) \, V^\top, \qquad V^\top V = I $$

    Each eigenvector has its largest entry positive: it is one either way, and libraries differ.

    >>> values, vectors = spectrum(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.tolist(), vectors[:, 0]
    ([3.0, 1.0], tensor([0.7071, 0.7071]))
    """
    matrix = tensor(matrix)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise GradlabError(f"Eigenvectors are of square matrices, and this one has shape {tuple(matrix.shape)}.")
    largest = float(matrix.abs().amax()) if matrix.numel() else 0.0
    if not torch.allclose(matrix, matrix.mT, rtol=0.0, atol=_ASYMMETRY * largest, equal_nan=True):
        raise GradlabError("spectrum takes symmetric matrices. Of another one, take torch.linalg.eig or its SVD.")
    values, vectors = torch.linalg.eigh(matrix)
    return values.flip(-1), signed(vectors.flip(-1))


@takes_arrays
def principal_axes(
    points: Float[Tensor, "n numbers"],
) -> tuple[Float[Tensor, " dims"], Float[Tensor, "numbers dims"]]:
    r"""How much points vary along each of their principal axes, and the axes as columns, by the SVD.

    $$ X - \bar X = U S V^\top, \qquad \lambda = \frac{S^2}{n - 1} $$

    V has the eigenvectors of the covariance, and λ its eigenvalues; the covariance itself, in which squares of small
    numbers are lost, is never computed. There are as many axes as points, less one, or as numbers.

    >>> variances, axes = principal_axes(torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> variances[0], axes[:, 0]
    (tensor(2.), tensor([0.7071, 0.7071]))
    """
    points = tensor(points)
    if points.ndim != 2 or len(points) < 2:
        raise GradlabError(
            f"Principal axes need two rows or more, one for each point, got shape {tuple(points.shape)}."
        )
    _, sizes, axes = torch.linalg.svd(points - points.mean(0), full_matrices=False)
    kept = min(len(points) - 1, points.shape[1])  # n centred points span n - 1 directions
    return (sizes.square() / (len(points) - 1))[:kept], signed(axes.mT[:, :kept])


def signed(vectors: Float[Tensor, "*batch n count"]) -> Float[Tensor, "*batch n count"]:
    """Each column with its largest entry positive."""
    largest = vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True))
    return vectors * torch.where(largest < 0, -1.0, 1.0).to(vectors)
