"""The weights of multi-head attention, by whatever names a module has them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from gradlab.verification.subject import Incomparable

T = TypeVar("T")

PACKED = ("in_proj_", "in_proj.", "qkv.", "qkv_proj.", "to_qkv.", "c_attn.")
USUAL = "{q}_proj {query} {query}_proj W_{q} W_{Q} w_{q} w{q} W{Q} to_{q} {q}_linear {q}"
QUERY, KEY, VALUE = (
    [name.format(query=word, q=word[0], Q=word[0].upper()) + "." for name in USUAL.split()]
    for word in ("query", "key", "value")
)
OUTPUT = "out_proj o_proj out output proj c_proj to_out to_out.0 fc_out W_o W_O w_o wo WO out_linear"
OUT = [f"{name}." for name in OUTPUT.split()]


class Projections:
    """The maps of queries, keys and values, and that of the result: weights below one another as in torch.nn."""

    def __init__(self, block: nn.Module):
        self._known = dict(block.named_parameters())
        packed = [stem for stem in PACKED if f"{stem}weight" in self._known]
        before = [packed[0]] if packed else [self._stem(names) for names in (QUERY, KEY, VALUE)]
        after = [self._stem(OUT)]
        self._groups = [self._of(stems, kind) for stems in (before, after) for kind in ("weight", "bias")]

    @property
    def leaves(self) -> list[nn.Parameter]:
        """The module's own parameters, each once."""
        return [parameter for group in self._groups for parameter in group]

    def arranged(self, values: Sequence[T], join: Callable[[list[T]], T]) -> list[T | None]:
        """Values in the order of `leaves` as weight and bias before the heads, weight and bias after them."""
        rest, result = list(values), []
        for group in self._groups:
            parts, rest = rest[: len(group)], rest[len(group) :]
            result.append(join(parts) if len(parts) > 1 else parts[0] if parts else None)
        return result

    def packed(self) -> dict[str, Tensor]:
        """By the names of torch.nn, made of the module's own, so that gradients reach them. No bias is one of 0."""
        leaves: list[Tensor] = [*self.leaves]
        in_weight, in_bias, out_weight, out_bias = self.arranged(leaves, lambda parts: torch.cat(parts))
        assert in_weight is not None
        assert out_weight is not None
        return {
            "in_proj_weight": in_weight,
            "in_proj_bias": in_weight.new_zeros(len(in_weight)) if in_bias is None else in_bias,
            "out_proj.weight": out_weight,
            "out_proj.bias": out_weight.new_zeros(len(out_weight)) if out_bias is None else out_bias,
        }

    def _stem(self, names: Sequence[str]) -> str:
        for stem in names:
            if f"{stem}weight" in self._known:
                return stem
        raise Incomparable(
            f"it has no parameter {names[0]}weight, nor one of another usual name; its own are "
            f"{', '.join(self._known) or 'none'}"
        )

    def _of(self, stems: Sequence[str], kind: str) -> list[nn.Parameter]:
        parameters = [self._known[f"{stem}{kind}"] for stem in stems if f"{stem}{kind}" in self._known]
        if len(parameters) not in (0, len(stems)):
            raise Incomparable(f"of {', '.join(stems)} some have a {kind}, and some have none")
        return parameters
