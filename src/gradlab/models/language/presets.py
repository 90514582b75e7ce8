"""GPT-2 and Llama: what they are among decoder-only transformers, at any size."""

from typing import Annotated, Any

from torch import nn

from gradlab.models.language.transformer import TransformerLanguageModel
from gradlab.models.registry import models
from gradlab.registry import Count, Fraction
from gradlab.specs import Tokens

_SHARED = {"attention": "softmax", "norm_first": True}
GPT2: dict[str, Any] = {**_SHARED, "position": "learned", "norm": "layer", "gated": False, "bias": True}
LLAMA: dict[str, Any] = {**_SHARED, "position": "rotary", "norm": "rms", "gated": True, "bias": False}


@models.register("gpt2")
def gpt2(
    inputs: Tokens,
    outputs: int,
    *,
    layers: Annotated[Count, "decoder layers; GPT-2 itself has 12"] = 4,
    heads: Annotated[Count, "of each attention; GPT-2 itself has 12"] = 4,
    dim: Annotated[Count, "features of a token, a multiple of heads; GPT-2 itself has 768"] = 128,
    hidden: Annotated[Count | None, "features between the maps of an MLP; default 4 dim"] = None,
    dropout: Annotated[Fraction, "probability of dropping a feature"] = 0.0,
) -> nn.Module:
    """The architecture of GPT-2: learned positions, layer norm, GELU by tanh, the last map tied to the embedding."""
    sizes: dict[str, Any] = {"dim": dim, "layers": layers, "heads": heads, "hidden": hidden}
    return TransformerLanguageModel(
        inputs.vocabulary, inputs.context, **sizes, dropout=dropout, approximate="tanh", **GPT2
    )


@models.register("llama")
def llama(
    inputs: Tokens,
    outputs: int,
    *,
    layers: Annotated[Count, "decoder layers"] = 4,
    heads: Annotated[Count, "of each attention"] = 4,
    dim: Annotated[Count, "features of a token, an even multiple of heads"] = 128,
    hidden: Annotated[Count | None, "features between the maps of an MLP; default 8/3 dim"] = None,
    dropout: Annotated[Fraction, "probability of dropping a feature"] = 0.0,
    tied: Annotated[bool, "the last map is the table of embeddings"] = False,
) -> nn.Module:
    """The architecture of Llama: rotary positions, RMS norm, gated MLPs, no biases."""
    sizes: dict[str, Any] = {"dim": dim, "layers": layers, "heads": heads, "hidden": hidden}
    return TransformerLanguageModel(inputs.vocabulary, inputs.context, **sizes, dropout=dropout, tied=tied, **LLAMA)
