"""Ways between two noises, along which samples change bit by bit."""

import torch
from jaxtyping import Float
from torch import Tensor


def slerp(first: Tensor, second: Tensor, shares: Float[Tensor, " steps"]) -> Tensor:
    r"""Spherical interpolation, which keeps the length that noise of many dimensions has. Shoemake 1985.

    $$ z_t = \frac{\sin((1 - t)\,ω)}{\sin ω}\, z_0 + \frac{\sin(t\,ω)}{\sin ω}\, z_1,
       \qquad \cos ω = \frac{z_0 · z_1}{|z_0|\,|z_1|} $$

    Pairs (n, …) become n ways of as many steps as there are shares; where the two point the same way, or against each
    other, the way is straight.

    >>> way = slerp(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([0.0, 0.5, 1.0]))
    >>> way.norm(dim=-1).round(decimals=6).tolist()
    [[1.0, 1.0, 1.0]]
    """
    angle = torch.cosine_similarity(first.flatten(1), second.flatten(1)).clamp(-1, 1).acos()
    angle = angle.reshape(-1, 1, *[1] * (first.ndim - 1))
    share = shares.to(first).reshape(1, -1, *[1] * (first.ndim - 1))
    straight = angle.sin().abs() < 1e-4
    sine = torch.where(straight, 1.0, angle.sin())
    begin = torch.where(straight, 1 - share, ((1 - share) * angle).sin() / sine)
    end = torch.where(straight, share, (share * angle).sin() / sine)
    return begin * first[:, None] + end * second[:, None]
