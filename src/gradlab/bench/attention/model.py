"""A GPT of one layer with the attention that is asked for. Importing this imports torch."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.language import TransformerLanguageModel
from gradlab.nn.attention import ScaledDotAttention


class WrittenOutAttention(ScaledDotAttention):
    """Softmax attention as its equation has it: the matrix of all weights is made and kept for the backward pass."""

    def forward(
        self,
        queries: Float[Tensor, "*batch n d"],
        keys: Float[Tensor, "*batch m d"],
        values: Float[Tensor, "*batch m e"],
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        bias: Tensor | None = None,
    ) -> Float[Tensor, "*batch n e"]:
        return self.weights(queries, keys, mask, is_causal=is_causal, bias=bias) @ values


def one_layer(mechanism: str, *, vocabulary: int, dim: int, heads: int) -> nn.Module:
    """Positions are sinusoids, which are there for any length."""
    written_out = mechanism == "written-out"
    attention: Any = "softmax" if written_out else mechanism
    model = TransformerLanguageModel(
        vocabulary, 0, dim=dim, layers=1, heads=heads, attention=attention, position="sinusoidal"
    )
    if written_out:
        model.get_submodule("layers.0.attention").attention = WrittenOutAttention()
    return model
