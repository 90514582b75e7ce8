"""How close random features come to the kernel that they estimate, by their number."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import Module

from gradlab.errors import GradlabError


@torch.no_grad()
def feature_error(
    features: Callable[[int], Module],
    kernel: Callable[[Tensor, Tensor], Tensor],
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "m d"],
    counts: Sequence[int],
    *,
    draws: int = 100,
    seed: int = 0,
) -> Float[Tensor, " counts"]:
    r"""The root mean square of $\varphi(x)^\top \varphi(y) - k(x, y)$, for each number of features.

    A product of features is a mean over independent directions, so the error falls as $1 / \sqrt{k}$: a tenth of it
    needs a hundred times as many.

    - `features`: from a number of directions to a map, drawn anew at each call
    - `kernel`: of all pairs, a matrix

    >>> from gradlab.nn.attention import FourierFeatures
    >>> x = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    >>> gaussian = lambda x, y: (-torch.cdist(x, y).square()).exp()
    >>> few, many = feature_error(lambda k: FourierFeatures(2, k), gaussian, x, x, [10, 1000])
    >>> 8 < few / many < 12
    tensor(True)
    """
    if not counts or min(counts) < 1 or draws < 1:
        raise GradlabError(f"Features and draws are counted from 1: got counts={list(counts)} and draws={draws}.")
    wanted, errors = kernel(x, y), list[Tensor]()
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        for count in counts:
            maps = [features(count).to(x.dtype) for _ in range(draws)]
            products = torch.stack([each(x) @ each(y).mT for each in maps])
            errors.append((products - wanted).square().mean().sqrt())
    return torch.stack(errors)
