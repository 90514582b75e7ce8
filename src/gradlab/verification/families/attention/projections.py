"""The weights of multi-head attention, as they lie in torch.nn."""

from collections.abc import Sequence
from typing import TypeVar

from torch import Tensor, nn

from gradlab.verification.case import Case

T = TypeVar("T")
NAMES = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")


class Projections:
    """The maps of queries, keys and values, and that of the result: weights below one another as in torch.nn."""

    def __init__(self, case: Case, block: nn.Module):
        own = {"in_proj_weight", "out_proj.weight", *case.parameter_names(block)}
        self._known = case.weights(block, *(name for name in NAMES if name in own))

    @property
    def leaves(self) -> list[Tensor]:
        """What is there, each once: a bias that is none is no leaf, but 0."""
        return [*self._known.values()]

    def arranged(self, values: Sequence[T]) -> list[T | None]:
        """Values in the order of `leaves` as weight and bias before the heads, weight and bias after them."""
        by_name = dict(zip(self._known, values, strict=True))
        return [by_name.get(name) for name in NAMES]

    def packed(self) -> dict[str, Tensor]:
        """By the names of torch.nn. No bias is one of 0."""
        before, after = self._known["in_proj_weight"], self._known["out_proj.weight"]
        zeros = {"in_proj_bias": before.new_zeros(len(before)), "out_proj.bias": after.new_zeros(len(after))}
        return {name: self._known[name] if name in self._known else zeros[name] for name in NAMES}
