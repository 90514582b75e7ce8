"""Kernel regression (Nadaraya 1964, Watson 1964): attention whose weights fall with the distance of key and query.

There is nothing to learn but the `width`: keys and values are the examples, and a query's answer is the mean of what is
known near it. Where no key is near enough to count, the answer is 0, as for a query that may look nowhere.
"""

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.nn.attention.masks import Mask, for_scores
from gradlab.nn.attention.scores import Attention, Pooled, Values, Weights
from gradlab.nn.blocks import block
from gradlab.registry import Positive

_COST: dict[str, Any] = {
    "flops": "2·n·m·e, and distances at 3·n·m·d that no counter counts",
    "memory": "O(n·m)",
    "letters": "n queries and m keys of d entries and values of e",
}


class KernelAttention(Attention):
    """What kernels have in common: they see differences of queries and keys, in units of their width."""

    def __init__(self, width: Positive = 1.0):
        super().__init__()
        self.width = width

    def distances(self, queries: Tensor, keys: Tensor) -> Weights:
        """‖q - k‖ / width, in float32 or wider."""
        wide = torch.promote_types(queries.dtype, torch.float32)
        # Not as q² - 2qk + k², a difference of large numbers that leaves nothing of small distances.
        mode = "donot_use_mm_for_euclid_dist"
        return torch.cdist(queries.to(wide), keys.to(wide), compute_mode=mode) / self.width

    def kernel(self, distance: Tensor) -> Tensor:
        """What a key at this distance counts, before the weights are made to sum to 1."""
        raise NotImplementedError

    def weights(self, queries: Tensor, keys: Tensor, mask: Mask | None = None) -> Weights:
        kernel = self.kernel(self.distances(queries, keys))
        if mask is not None:
            kernel = kernel.masked_fill(~for_scores(mask, kernel.shape), 0.0)
        total = kernel.sum(-1, keepdim=True)
        return (kernel / torch.where(total == 0, 1.0, total)).to(queries.dtype)

    def forward(
        self,
        queries: Float[Tensor, "*batch n d"],
        keys: Float[Tensor, "*batch m d"],
        values: Values,
        mask: Mask | None = None,
    ) -> Pooled:
        return self.weights(queries, keys, mask) @ values


@block("attention.gaussian", **_COST)
class GaussianAttention(KernelAttention):
    r"""Kernel regression with the bell curve: every key counts, near ones most.

    $$ o(q) = \frac{\sum_j \alpha(q, k_j) \, v_j}{\sum_j \alpha(q, k_j)}, \qquad
       \alpha(q, k) = \exp \left( -\frac{\lVert q - k \rVert^2}{2 w^2} \right) $$

    w is `width`. Since ‖q - k‖² = ‖q‖² - 2 qᵀk + ‖k‖², the weights are softmax(qᵀk/w² - ‖k‖²/2w²): where keys are
    equally long, it is attention by dot products. They are computed as a softmax, so far from all keys the nearest
    decides.

    >>> x, y = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[0.0], [10.0], [20.0]])
    >>> GaussianAttention(width=0.5)(torch.tensor([[0.5], [100.0]]), x, y)
    tensor([[ 5.1361],
            [20.0000]])
    """

    def score(self, queries: Tensor, keys: Tensor) -> Weights:
        return -0.5 * self.distances(queries, keys).square()

    def weights(self, queries: Tensor, keys: Tensor, mask: Mask | None = None) -> Weights:
        return Attention.weights(self, queries, keys, mask).to(queries.dtype)


@block("attention.boxcar", **_COST)
class BoxcarAttention(KernelAttention):
    r"""Kernel regression with a sharp edge: the plain mean of the values whose keys are within reach.

    $$ o(q) = \frac{\sum_j \alpha(q, k_j) \, v_j}{\sum_j \alpha(q, k_j)}, \qquad
       \alpha(q, k) = \begin{cases} 1 & \lVert q - k \rVert \le w \\ 0 & \lVert q - k \rVert > w \end{cases} $$

    w is `width`. With no key within reach, the answer is 0. No gradient reaches queries and keys.

    >>> x, y = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[0.0], [10.0], [20.0]])
    >>> BoxcarAttention()(torch.tensor([[1.5], [100.0]]), x, y).tolist()
    [[15.0], [0.0]]
    """

    def kernel(self, distance: Tensor) -> Tensor:
        return (distance <= 1).to(distance.dtype)


@block("attention.epanechnikov", **_COST)
class EpanechnikovAttention(KernelAttention):
    r"""Kernel regression with a parabola: of all kernels, it estimates a density with the least squared error.

    $$ o(q) = \frac{\sum_j \alpha(q, k_j) \, v_j}{\sum_j \alpha(q, k_j)}, \qquad
       \alpha(q, k) = \max \left( 0, \; 1 - \frac{\lVert q - k \rVert^2}{w^2} \right) $$

    w is `width`. The distance is squared; with the distance itself it is `attention.triangular`. With no key within
    reach, the answer is 0. Epanechnikov 1969.

    >>> EpanechnikovAttention().weights(torch.tensor([[0.0]]), torch.tensor([[0.0], [0.5], [9.0]]))
    tensor([[0.5714, 0.4286, 0.0000]])
    """

    def kernel(self, distance: Tensor) -> Tensor:
        return torch.relu(1 - distance.square())


@block("attention.triangular", **_COST)
class TriangularAttention(KernelAttention):
    r"""Kernel regression with a tent: what a key counts falls evenly with its distance.

    $$ o(q) = \frac{\sum_j \alpha(q, k_j) \, v_j}{\sum_j \alpha(q, k_j)}, \qquad
       \alpha(q, k) = \max \left( 0, \; 1 - \frac{\lVert q - k \rVert}{w} \right) $$

    w is `width`. Some books print it under the name of `attention.epanechnikov`, whose distance is squared. With no key
    within reach, the answer is 0.

    >>> TriangularAttention().weights(torch.tensor([[0.0]]), torch.tensor([[0.0], [0.5], [9.0]]))
    tensor([[0.6667, 0.3333, 0.0000]])
    """

    def kernel(self, distance: Tensor) -> Tensor:
        return torch.relu(1 - distance)


Kernel = Literal["gaussian", "boxcar", "epanechnikov", "triangular"]

kernels: dict[Kernel, type[KernelAttention]] = {
    "gaussian": GaussianAttention,
    "boxcar": BoxcarAttention,
    "epanechnikov": EpanechnikovAttention,
    "triangular": TriangularAttention,
}
