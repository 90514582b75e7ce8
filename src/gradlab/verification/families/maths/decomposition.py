"""What is known of eigenvectors and principal axes."""

import numpy as np
import torch
from torch import Tensor

from gradlab.maths import decomposition
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

SPECTRUM, AXES = "maths.spectrum", "maths.principal_axes"
subject(SPECTRUM)(decomposition.spectrum)
subject(AXES)(decomposition.principal_axes)


def _symmetric(case: Case) -> Tensor:
    n = case.integer("n", 1, 5)
    x = case.tensor("x", *case.sizes(2, (0, 1)), n, n).detach()
    return x + x.mT


@law(SPECTRUM, fault=lambda x: (decomposition.spectrum(x)[0].abs(), decomposition.spectrum(x)[1]))
def the_eigenvectors_take_it_apart_and_together_again(case: Case) -> float:
    """$A = V diag(λ) V^⊤$ with $V^⊤ V = I$ and $λ_1 ≥ … ≥ λ_n$, which sum to the trace"""
    x = _symmetric(case)
    values, vectors = case.build()(x)
    again = vectors @ torch.diag_embed(values) @ vectors.mT
    one = torch.eye(x.shape[-1], dtype=x.dtype).expand_as(x)
    trace = x.diagonal(dim1=-2, dim2=-1).sum(-1)
    falling = float((values.diff(dim=-1) > 1e-9).sum())
    return max(difference((again, vectors.mT @ vectors, values.sum(-1)), (x, one, trace)), falling)


@peer(SPECTRUM, "numpy.linalg.eigvalsh")
def numpys_eigenvalues(case: Case) -> float:
    x = _symmetric(case)
    theirs = torch.as_tensor(np.linalg.eigvalsh(x.numpy())[..., ::-1].copy())
    return difference(case.build()(x)[0], theirs)


def _uncentred(points: Tensor) -> tuple[Tensor, Tensor]:
    kept = min(len(points) - 1, points.shape[1])
    values, vectors = decomposition.spectrum(points.mT @ points / (len(points) - 1))
    return values[:kept], vectors[:, :kept]


@law(AXES, fault=_uncentred)
def they_are_the_eigenvectors_of_the_covariance(case: Case) -> float:
    """λ and V of the SVD of centred points are those of their covariance"""
    points = case.tensor("points", case.integer("n", 2, 6), case.integer("numbers", 1, 4)).detach() + 1
    variances, axes = case.build()(points)
    covariance = torch.cov(points.mT).reshape(points.shape[1], points.shape[1])
    values, _ = decomposition.spectrum(covariance)
    stretched = covariance @ axes
    return difference((variances, stretched), (values[: len(variances)], axes * variances))


@peer(AXES, "sklearn.decomposition.PCA")
def sklearns_pca(case: Case) -> float:
    from sklearn.decomposition import PCA

    points = torch.randn(case.integer("n", 3, 6), 3, generator=case.generator("points"), dtype=torch.float64)
    theirs = PCA(min(len(points) - 1, 3)).fit(points.numpy())
    variances, axes = case.build()(points)
    signed = decomposition.signed(torch.as_tensor(theirs.components_.T.copy()))
    return difference((variances, axes), (torch.as_tensor(theirs.explained_variance_), signed))
