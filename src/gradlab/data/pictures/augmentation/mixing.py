"""Pictures mixed with others, and their targets in the same shares."""

import torch
from jaxtyping import Bool, Float, Float64, Shaped
from torch import Tensor

from gradlab.data.pictures.augmentation.boxes import boxes

Pictures = Float[Tensor, "rows channels height width"]
Share = Float64[Tensor, " rows"]


def blended(pictures: Pictures, others: Pictures, share: Share) -> Pictures:
    r"""$λ x + (1 - λ) x'$: mixup (Zhang et al. 2017, arXiv:1710.09412)."""
    return _between(pictures, others, share)


def pasted(pictures: Pictures, others: Pictures, share: Share, at: Float64[Tensor, "2 rows"]) -> tuple[Pictures, Share]:
    """A box of the others in their place, and what share of each picture is left (Yun et al. 2019, arXiv:1905.04899).

    The box has the shape of the picture and, but for whole pixels, the share 1 − λ of its area.
    """
    tall, wide = pictures.shape[-2:]
    side = (1 - share).sqrt()
    height, width = (side * tall).round().long(), (side * wide).round().long()
    box: Bool[Tensor, "rows 1 height width"] = boxes((tall, wide), height, width, at)
    return torch.where(box, others, pictures), 1 - (height * width).double() / (tall * wide)


def mixed_targets(
    targets: Shaped[Tensor, "rows *each"], others: Shaped[Tensor, "rows *each"], share: Share, classes: int | None
) -> Float[Tensor, "rows *mixed"]:
    """In their shares: probabilities of classes, or numbers."""
    if classes is not None and not targets.is_floating_point():
        every = torch.arange(classes, device=targets.device)
        targets, others = (targets[:, None] == every).float(), (others[:, None] == every).float()
    return _between(targets, others, share)


def _between(one: Tensor, other: Tensor, share: Share) -> Tensor:
    # Product by product: torch.lerp rounds the last numbers of a batch otherwise than the first.
    share = share.to(one.dtype).view(-1, *(1,) * (one.ndim - 1))
    return share * one + (1 - share) * other
