"""Where a query may look. A mask is boolean, true where it may; masks are combined with `&`.

It acts on the scores, before the softmax. A query that may look nowhere has no weights, and gets zeros.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.nn.blocks import ShapeError, block

Mask = Bool[Tensor, "*#batch #n #m"]


def causal_mask(n: int, m: int | None = None, *, device: torch.device | None = None) -> Bool[Tensor, "n m"]:
    """True where the key is not later than the query. The last of n queries stands at the last of m keys.

    >>> causal_mask(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal_mask(2, 4).int().tolist()
    [[1, 1, 1, 0], [1, 1, 1, 1]]
    """
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


def length_mask(lengths: Int[Tensor, "*batch"], size: int) -> Bool[Tensor, "*batch size"]:
    """True at the first entries of each row, as many as its length; padding follows.

    One length for each sequence, whatever the query, is `length_mask(lengths[:, None], size)`.

    >>> length_mask(torch.tensor([1, 3]), 4).int().tolist()
    [[1, 0, 0, 0], [1, 1, 1, 0]]
    """
    return torch.arange(size, device=lengths.device) < lengths[..., None]


def without_later_keys(mask: Mask | None, n: int, m: int, device: torch.device) -> Mask:
    """The mask, with what comes after each query hidden too."""
    causal = causal_mask(n, m, device=device)
    return causal if mask is None else mask & causal


@block("attention.masked_softmax", flops="O(n·m)", memory="O(n·m)")
def masked_softmax(scores: Float[Tensor, "*batch n m"], mask: Mask | None = None) -> Float[Tensor, "*batch n m"]:
    r"""The softmax over the entries where the mask is true, and 0 at the others.

    $$ \alpha_{ij} = \frac{M_{ij} \, e^{s_{ij}}}{\sum_l M_{il} \, e^{s_{il}}}, \qquad
       M_{ij} = \begin{cases} 1 & \text{if query } i \text{ may look at key } j \\ 0 & \text{else} \end{cases} $$

    Hidden scores are set to the lowest number of their dtype: a constant such as -10⁶ would win against scores below
    it, and is -∞ in float16. Where a row has no true entry all its weights are 0, and so are its gradients.

    >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False, False, False]])).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    if mask is None:
        return torch.softmax(scores, -1)
    hidden = ~for_scores(mask, scores.shape)
    weights = torch.softmax(scores.masked_fill(hidden, torch.finfo(scores.dtype).min), -1)
    return weights.masked_fill(hidden, 0.0)


def for_scores(mask: Tensor, shape: torch.Size) -> Tensor:
    """The mask, after a look at whether it is one for scores of this shape."""
    if mask.dtype != torch.bool:
        raise GradlabError(f"A mask must be boolean, true where a query may look; got {mask.dtype}.")
    fits = all(size in (1, wanted) for size, wanted in zip(mask.shape[::-1], shape[::-1], strict=False))
    if mask.ndim > len(shape) or not fits:
        raise ShapeError(f"A mask of shape {tuple(mask.shape)} cannot be spread over scores of shape {tuple(shape)}.")
    return mask
