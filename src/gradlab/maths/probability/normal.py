"""The multivariate normal distribution: density, draws, affine maps, sums, marginal and conditional laws."""

from collections.abc import Sequence
from functools import cached_property
from math import log, pi
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.arrays import tensor


class Normal:
    r"""The normal distribution N(μ, Σ), by its covariance or by any root of it, also where that is singular.

    $$ p(x) = \frac{1}{\sqrt{(2 \pi)^d \det \Sigma}} \;
       e^{-\frac{1}{2} (x - \mu)^\top \Sigma^{-1} (x - \mu)},
       \qquad X = \mu + R Z, \quad Z \sim N(0, I), \quad R R^\top = \Sigma $$

    Leading axes of `mean`, and of `covariance` or `root`, are a batch. A singular one has draws but no density: all its
    mass is in a smaller space. N(μ, 0) is μ for certain.

    >>> pair = Normal([0.0, 1.0], [[2.0, 1.0], [1.0, 1.0]])
    >>> pair.log_density(torch.tensor([0.0, 1.0], dtype=torch.float64))
    tensor(-1.8379, dtype=torch.float64)
    >>> pair.condition([1], [3.0])
    Normal(mean=[2.0], covariance=[[1.0]])
    """

    def __init__(self, mean: Any, covariance: Any = None, *, root: Any = None):
        if (covariance is None) == (root is None):
            raise GradlabError("Normal: give it a covariance or a root of one, and not both.")
        matrix = tensor(covariance if root is None else root)
        self.mean = tensor(mean).to(matrix)
        self._root = None if root is None else matrix
        self.covariance = matrix if root is None else matrix @ matrix.mT
        wanted = (self.dim, self.dim)
        if self.mean.ndim < 1 or self.covariance.shape[-2:] != wanted:
            got = tuple(self.covariance.shape)
            raise GradlabError(f"Normal: a mean of {self.dim} entries needs a covariance of {wanted}, got {got}.")
        if not bool(self.mean.isfinite().all()):
            raise GradlabError(f"Normal: the mean {self.mean.tolist()} has an entry that is no finite number.")
        if self._root is None:
            check_covariance(self.covariance.detach(), "Normal")

    @property
    def dim(self) -> int:
        return self.mean.shape[-1] if self.mean.ndim else 1

    def __repr__(self) -> str:
        return f"Normal(mean={self.mean.tolist()}, covariance={self.covariance.tolist()})"

    # Density and draws

    @cached_property
    def _cholesky(self) -> Tensor:
        """Refused where the covariance is singular."""
        eigenvalues = torch.linalg.eigvalsh(self.covariance.detach())
        rounding = self.dim * torch.finfo(eigenvalues.dtype).eps * eigenvalues[..., -1:]
        rank = int((eigenvalues > rounding).sum(-1).min())
        if rank < self.dim:
            raise GradlabError(
                f"Normal: the covariance has rank {rank} of {self.dim}, so there is no density: all mass is in a "
                f"space of dimension {rank}. Draws, moments and maps of it work."
            )
        lower: Tensor = torch.linalg.cholesky(self.covariance)
        return lower

    @cached_property
    def root(self) -> Tensor:
        """A matrix R with RRᵀ = Σ: that which was given, Cholesky's, or of a singular Σ that of its eigenvectors."""
        if self._root is not None:
            return self._root
        lower, failed = torch.linalg.cholesky_ex(self.covariance)
        root: Tensor = lower
        if bool(failed.any()):
            eigenvalues, vectors = torch.linalg.eigh(self.covariance)
            root = vectors * eigenvalues.clamp(min=0).sqrt()[..., None, :]
        return root

    def log_density(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
        r"""The logarithm of the density.

        $$ \log p(x) = -\tfrac12 (x - \mu)^\top \Sigma^{-1} (x - \mu) - \tfrac12 \log \det \Sigma
           - \tfrac{d}{2} \log 2\pi $$
        """
        x = self._points(x)
        lower, apart = self._cholesky, (x - self.mean)[..., None]
        whitened: Tensor = torch.linalg.solve_triangular(lower, apart, upper=False).squeeze(-1)
        log_det = lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -0.5 * whitened.square().sum(-1) - log_det - 0.5 * self.dim * log(2 * pi)

    def density(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
        return self.log_density(x).exp()

    def sample(self, *shape: int, generator: torch.Generator | None = None) -> Tensor:
        """Draws μ + Rz, with gradients to μ and to the root."""
        root = self.root
        batch = (self.mean + root[..., 0]).shape[:-1] if root.shape[-1] else self.mean.shape[:-1]
        noise = torch.randn((*shape, *batch, root.shape[-1]), generator=generator, dtype=root.dtype, device=root.device)
        return self.mean + (root @ noise[..., None]).squeeze(-1)

    # Laws of parts and of sums

    def affine(self, matrix: Any, shift: Any = 0.0) -> "Normal":
        r"""The law of AX + b, for any matrix A.

        $$ A X + b \sim N(A \mu + b, \; A \Sigma A^\top) $$
        """
        matrix = tensor(matrix).to(self.mean)
        if matrix.shape[-1:] != (self.dim,):
            raise GradlabError(f"Normal: a map of {self.dim} entries has as many columns, got {tuple(matrix.shape)}.")
        mean = (matrix @ self.mean[..., None]).squeeze(-1) + tensor(shift).to(self.mean)
        if self._root is not None:
            return Normal(mean, root=matrix @ self._root)
        return Normal(mean, _rounded(matrix @ self.covariance @ matrix.mT, matrix.abs() @ self.covariance.abs()))

    def add_independent(self, other: "Normal") -> "Normal":
        r"""The law of a sum of independent variables.

        $$ X + Y \sim N(\mu + \nu, \; \Sigma + \Lambda) $$
        """
        if self.dim != other.dim:
            raise GradlabError(f"Normal: variables of {self.dim} and of {other.dim} entries have no sum.")
        return Normal(self.mean + other.mean, self.covariance + other.covariance)

    def marginal(self, indices: Sequence[int]) -> "Normal":
        """The law of some coordinates, in this order."""
        chosen = self._chosen(indices)
        return Normal(self.mean[..., chosen], self.covariance[..., chosen, :][..., chosen])

    def condition(self, indices: Sequence[int], values: Any) -> "Normal":
        r"""The law of the other coordinates X, once those with these indices, Y, have these values.

        $$ \mu_{X|y} = \mu_X + \Sigma_{XY} \Sigma_{YY}^{-1} (y - \mu_Y), \qquad
           \Sigma_{X|y} = \Sigma_{XX} - \Sigma_{XY} \Sigma_{YY}^{-1} \Sigma_{YX} $$

        For a singular $\Sigma_{YY}$ the inverse is the pseudo-inverse, and values that cannot occur are refused.
        """
        y = self._chosen(indices)
        known = tensor(values).to(self.mean)
        if known.shape[-1:] != (len(y),):
            raise GradlabError(f"Normal: {len(y)} coordinates need a value each, got the shape {tuple(known.shape)}.")
        x = [i for i in range(self.dim) if i not in y]
        rows = self.covariance[..., y, :]
        inverse = torch.linalg.pinv(rows[..., y], hermitian=True)
        apart = known - self.mean[..., y]
        outside = apart - ((rows[..., y] @ inverse) @ apart[..., None]).squeeze(-1)
        if float(outside.detach().abs().max()) > 1e-6 * max(1.0, float(apart.detach().abs().max())):
            raise GradlabError("Normal: these values cannot occur together: their covariance is singular.")
        gain = rows[..., x].mT @ inverse
        mean = self.mean[..., x] + (gain @ apart[..., None]).squeeze(-1)
        covariance = self.covariance[..., x, :][..., x] - gain @ rows[..., x]
        return Normal(mean, _rounded(covariance, self.covariance))

    def moment_generating(self, a: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
        r"""The mean exponential of a linear function.

        $$ E \, e^{\langle a, X \rangle} = \exp\left( \langle a, \mu \rangle + \frac{1}{2} a^\top \Sigma a \right) $$
        """
        a = self._points(a)
        quadratic = (a[..., None, :] @ self.covariance @ a[..., None])[..., 0, 0]
        return ((a * self.mean).sum(-1) + 0.5 * quadratic).exp()

    def _points(self, x: Any) -> Tensor:
        points = tensor(x).to(self.mean)
        if points.shape[-1:] != (self.dim,):
            raise GradlabError(f"Normal: points have {self.dim} entries, got the shape {tuple(points.shape)}.")
        return points

    def _chosen(self, indices: Sequence[int]) -> list[int]:
        chosen = list(indices)
        if not set(chosen) <= set(range(self.dim)) or len(set(chosen)) < len(chosen):
            raise GradlabError(f"Normal: coordinates are different numbers from 0 to {self.dim - 1}, got {chosen}.")
        return chosen


def check_covariance(covariance: Tensor, owner: str) -> None:
    """Refuse a matrix that is no covariance, with the entry by which it is none."""
    scale = float(covariance.abs().max()) if covariance.numel() else 0.0
    limit = 1e3 * covariance.shape[-1] * torch.finfo(covariance.dtype).eps * scale
    if bool((wrong := ~covariance.isfinite()).any()):
        *_, i, j = wrong.nonzero()[0].tolist()
        raise GradlabError(f"{owner}: the entry {i}, {j} of the covariance is no number.")
    if bool((wrong := (covariance - covariance.mT).abs() > limit).any()):
        place = wrong.nonzero()[0].tolist()
        *_, i, j = place
        value, mirrored = float(covariance[tuple(place)]), float(covariance.mT[tuple(place)])
        raise GradlabError(
            f"{owner}: the covariance is not symmetric: its entry {i}, {j} is {value:g}, and {j}, {i} is {mirrored:g}."
        )
    smallest = float(torch.linalg.eigvalsh(covariance).min())
    if smallest < -limit:
        raise GradlabError(f"{owner}: the matrix is no covariance: {_impossible(covariance, smallest)}")


def _impossible(covariance: Tensor, smallest: float) -> str:
    """The first entry that no covariance has; if each could be that of one, what is wrong with them together."""
    variances = covariance.diagonal(dim1=-2, dim2=-1)
    if bool((wrong := variances < 0).any()):
        place = wrong.nonzero()[0].tolist()
        i = place[-1]
        return f"its entry {i}, {i} is {float(variances[tuple(place)]):g}, and a variance is never negative."
    most = (variances[..., :, None] * variances[..., None, :]).sqrt()
    if bool((wrong := covariance.abs() > most * (1 + 1e-6)).any()):
        place = wrong.nonzero()[0].tolist()
        *_, i, j = place
        value, bound = float(covariance[tuple(place)]), float(most[tuple(place)])
        return f"its entry {i}, {j} is {value:g}, and with these variances it is {bound:g} at most."
    return f"its correlations do not go together: its smallest eigenvalue is {smallest:g}, and must not be below 0."


def _rounded(covariance: Tensor, terms: Tensor) -> Tensor:
    """Symmetric, and without variances that are nothing but rounding of the terms that it is a difference of."""
    covariance = 0.5 * (covariance + covariance.mT)
    if not covariance.numel():
        return covariance
    eigenvalues, vectors = torch.linalg.eigh(covariance)
    limit = 10 * max(terms.shape[-2:]) * torch.finfo(covariance.dtype).eps * float(terms.detach().abs().max())
    if not bool((eigenvalues > limit).all()):
        covariance = (vectors * torch.where(eigenvalues > limit, eigenvalues, 0.0)[..., None, :]) @ vectors.mT
    return covariance
