"""Principal component analysis, and the Gaussian that it is: what every model of pictures or points should beat."""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.maths.decomposition import spectrum
from gradlab.models.registry import models
from gradlab.registry import Count
from gradlab.specs import Array

LARGEST = 8192
"""Numbers of an example, of whose covariances a matrix is made."""

_SHARE = 0.95  # of the variance that is kept, where nobody says how many axes are
_FLOOR = 1e-6  # least variance in any direction, in units of the inputs: a constant pixel would be infinitely likely
_ROWS = 4096  # examples that are looked at together

Inputs = Float[Tensor, "batch *shape"]
Codes = Float[Tensor, "batch dims"]


class PCA(nn.Module):
    r"""The `dims` directions in which examples differ most, and a Gaussian with these and noise in all others.

    $$ z = U^\top (x - \mu), \qquad \hat x = \mu + U z, \qquad
       p(x) = N \left( \mu, \; U \Lambda U^\top + \sigma^2 (I - U U^\top) \right) $$

    The columns of U are the first eigenvectors of the covariance, Λ their variances, and σ² is the mean of the others.
    Of all linear maps to `dims` numbers and back this has the least squared error, the sum of the other variances; and
    of all densities N(μ, W Wᵀ + σ² I) it is the most likely, with W = U (Λ − σ² I)^{1/2}. Tipping & Bishop 1999,
    doi:10.1111/1467-9868.00196. Variances are divided by n − 1, as those of scikit-learn are.

    Called on examples it gives them back as their codes tell of them. It has no parameters: `fit` solves for it all.

    >>> line = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> model = PCA([2], dims=1).fit(line)
    >>> model.variances, model.reconstruct(torch.tensor([[2.0, 0.0]]))
    (tensor([3.3333]), tensor([[1., 1.]]))
    """

    mean: Tensor
    axes: Tensor
    variances: Tensor
    noise: Tensor

    learning_steps = 1

    def __init__(self, shape: Sequence[int], dims: int):
        super().__init__()
        size = math.prod(shape)
        if size > LARGEST:
            raise GradlabError(
                f"PCA of examples of {size:,} numbers would need a matrix of {size:,}×{size:,}: it takes up to "
                f"{LARGEST:,}. Take smaller pictures, or model=autoencoder."
            )
        if not 1 <= dims <= size:
            raise GradlabError(f"PCA of examples of {size:,} numbers has 1 to {size:,} axes, got dims={dims}.")
        self.shape, self.dims = tuple(shape), dims
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("axes", torch.eye(dims, size))
        self.register_buffer("variances", torch.ones(dims))
        self.register_buffer("noise", torch.ones(()))

    def fit(self, inputs: Any) -> "PCA":
        """Solve for mean, axes and variances; inputs that are larger than memory are read a few rows at a time."""
        mean, covariance = moments(inputs)
        self._hold(mean, *spectrum(covariance))
        return self

    def _hold(self, mean: Tensor, values: Tensor, vectors: Tensor) -> None:
        values = values.clamp(min=0)
        others = values[self.dims :]
        self.mean.copy_(mean)
        self.axes.copy_(vectors[:, : self.dims].T)
        self.noise.copy_((others.mean() if len(others) else values.new_zeros(())).clamp(min=_FLOOR))
        self.variances.copy_(values[: self.dims].clamp(min=_FLOOR))

    def learn_without_gradients(self, train: Any, batch: Any) -> None:
        """One step, which solves for all of the training examples."""
        self.fit(train.inputs)

    def encode(self, x: Inputs) -> Codes:
        """How far an example is from the mean, along each axis."""
        return (x.flatten(1) - self.mean) @ self.axes.T

    def decode(self, code: Codes) -> Inputs:
        """The example that has this code and is the mean in all other directions."""
        return (self.mean + code @ self.axes).reshape(-1, *self.shape)

    def reconstruct(self, x: Inputs) -> Inputs:
        """What is left of examples on their way through the code."""
        return self.decode(self.encode(x))

    def forward(self, x: Inputs) -> Inputs:
        return self.reconstruct(x)

    def log_prob(self, x: Inputs) -> Float[Tensor, " batch"]:
        """The natural logarithm of the density, of inputs as they are given."""
        code = self.encode(x)
        # Lengths of orthogonal parts: a difference of their squares would lose digits where the rest is small.
        rest = (x.flatten(1) - self.mean - code @ self.axes).square().sum(1) / self.noise
        size, others = len(self.mean), len(self.mean) - self.dims
        volume = self.variances.log().sum() + others * self.noise.log() + size * math.log(2 * math.pi)
        return -0.5 * ((code.square() / self.variances).sum(1) + rest + volume)

    def sample(self, count: int) -> Inputs:
        """Examples drawn from the Gaussian."""
        # One draw in all directions, of which those along the axes are stretched to their variances.
        noise = torch.randn(count, len(self.mean), device=self.mean.device, dtype=self.mean.dtype)
        stretch = self.variances.sqrt() - self.noise.sqrt()
        drawn = noise * self.noise.sqrt() + (noise @ self.axes.T * stretch) @ self.axes
        return (self.mean + drawn).reshape(count, *self.shape)

    def extra_repr(self) -> str:
        return f"{'×'.join(map(str, self.shape))}, dims={self.dims}"


def pca_gaussian(inputs: Any, *, dims: int | None = None) -> PCA:
    """PCA + Gaussian of some examples, by default with as many axes as have 95 % of the variance.

    >>> pca_gaussian(torch.tensor([[1.0, 0.0], [2.0, 0.1], [4.0, 0.0]]))
    PCA(2, dims=1)
    """
    shape = tuple(inputs.shape[1:])
    model = PCA(shape, dims or 1)  # which refuses what is too large before anything is multiplied
    mean, covariance = moments(inputs)
    values, vectors = spectrum(covariance)
    if dims is None:
        shares = values.clamp(min=0).cumsum(0) / values.sum().clamp(min=_FLOOR)
        model = PCA(shape, min(1 + int((shares < _SHARE).sum()), len(values)))
    model._hold(mean, values, vectors)
    return model.to(inputs.device)


def moments(inputs: Any) -> tuple[Float[Tensor, " numbers"], Float[Tensor, "numbers numbers"]]:
    """Mean and covariance of examples, in double precision, by two passes over them."""
    count = len(inputs)
    if count < 2:
        raise GradlabError(f"PCA needs two examples at least to see how they differ, got {count}.")
    mean = torch.stack([part.sum(0) for part in _parts(inputs)]).sum(0) / count
    return mean, sum(((p - mean).T @ (p - mean) for p in _parts(inputs)), mean.new_zeros(())) / (count - 1)


def _parts(inputs: Any) -> Iterator[Tensor]:
    return (inputs[start : start + _ROWS].flatten(1).cpu().double() for start in range(0, len(inputs), _ROWS))


@models.register("pca")
def pca(
    inputs: Array, outputs: int, *, dims: Annotated[Count, "axes that are kept: numbers in the code of an example"] = 2
) -> nn.Module:
    """Principal component analysis as a linear autoencoder and a Gaussian; training it is one step, which solves."""
    return PCA(inputs.shape, dims)
