"""GPT-2 and Llama: what they are among decoder-only transformers, at any size."""

from typing import Any

from torch import nn

from gradlab.models.language.settings import TransformerSizes
from gradlab.models.language.transformer import KeyHeads, Tied, TransformerLanguageModel
from gradlab.models.registry import models
from gradlab.specs import Tokens

_SHARED = {"attention": "scaled_dot", "attention_scale": None, "norm_first": True, "activation": None}
GPT2: dict[str, Any] = {**_SHARED, "position": "learned", "norm": "layer", "gated": False, "bias": True}
LLAMA: dict[str, Any] = {**_SHARED, "position": "rotary", "norm": "rms", "gated": True, "bias": False}


@models.register("gpt2")
def gpt2(inputs: Tokens, outputs: int, *, sizes: TransformerSizes) -> nn.Module:
    """The architecture of GPT-2: learned positions, layer norm, GELU by tanh, the last map tied to the embedding.

    GPT-2 itself has 12 layers of 12 heads and 768 features.
    """
    return TransformerLanguageModel(inputs.vocabulary, inputs.context, **vars(sizes), approximate="tanh", **GPT2)


@models.register("llama")
def llama(
    inputs: Tokens, outputs: int, *, sizes: TransformerSizes, key_heads: KeyHeads = None, tied: Tied = False
) -> nn.Module:
    """The architecture of Llama: rotary positions, for which heads have even sizes, RMS norm, gated MLPs, no biases."""
    settings = {**vars(sizes), "key_heads": key_heads, "tied": tied, **LLAMA}
    return TransformerLanguageModel(inputs.vocabulary, inputs.context, **settings)
