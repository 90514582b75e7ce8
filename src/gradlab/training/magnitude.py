"""Which weights are pruned: those of the smallest magnitude, over all layers together or in each layer by itself."""

from collections.abc import Mapping

import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.wording import percent

Masks = dict[str, Tensor]
"""By the names of parameters: True where a weight is kept."""


def magnitude_masks(
    weights: Mapping[str, Tensor], keep: float, before: Mapping[str, Tensor] | None = None, *, per_layer: bool = False
) -> Masks:
    r"""Keep the share of the weights with the largest $\lvert w \rvert$, of all layers together or of each.

    What was pruned `before` stays pruned; the share is always of all weights, and a layer that has less of them keeps
    what it has. Of equal ones the first are kept. Han et al. 2015, arXiv:1506.02626.

    >>> magnitude_masks({"a": torch.tensor([[1.0, -3.0]]), "b": torch.tensor([[2.0, 0.5]])}, 0.5)
    {'a': tensor([[False,  True]]), 'b': tensor([[ True, False]])}
    """
    sizes = {name: magnitude(w, (before or {}).get(name)) for name, w in weights.items()}
    if per_layer:
        masks = {name: largest(size, round(keep * len(size))) for name, size in sizes.items()}
    else:
        every = torch.cat(list(sizes.values()))
        parts = torch.split(largest(every, round(keep * len(every))), [len(size) for size in sizes.values()])
        masks = dict(zip(sizes, parts, strict=True))
    for name, mask in masks.items():
        if not mask.any():
            others = "" if per_layer else ", or prune each layer by itself (--per-layer)"
            raise GradlabError(
                f"At {percent(keep)} of the weights nothing is left of the {len(mask):,} of {name}: no input would "
                f"pass it. Keep more (--keep){others}."
            )
    return {name: masks[name].view(w.shape) for name, w in weights.items()}


def magnitude(weights: Tensor, mask: Tensor | None) -> Tensor:
    """|w| in a row, on the CPU; -1 of a weight that is pruned already."""
    sizes = weights.detach().abs().flatten().cpu()
    return sizes if mask is None else sizes.masked_fill(~mask.flatten(), -1.0)


def largest(values: Tensor, count: int) -> Tensor:
    """A mask of the largest values that are not negative."""
    mask = torch.zeros(len(values), dtype=torch.bool)
    mask[values.argsort(descending=True, stable=True)[:count]] = True
    return mask & (values >= 0)
