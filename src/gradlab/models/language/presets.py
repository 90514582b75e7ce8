"""GPT-2 and Llama: what they are among decoder-only transformers, at any size."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from torch import nn

from gradlab.models.language.transformer import DecoderSizes, Tied, TransformerLanguageModel
from gradlab.models.registry import models
from gradlab.registry import Count
from gradlab.specs import Tokens

_SHARED = {"attention": "softmax", "norm_first": True}
GPT2: dict[str, Any] = {**_SHARED, "position": "learned", "norm": "layer", "gated": False, "bias": True}
LLAMA: dict[str, Any] = {**_SHARED, "position": "rotary", "norm": "rms", "gated": True, "bias": False}


@dataclass(frozen=True, kw_only=True)
class GPT2Sizes(DecoderSizes):
    """How large a GPT-2 is."""

    layers: Annotated[Count, "decoder layers; GPT-2 itself has 12"] = 4
    heads: Annotated[Count, "of each attention; GPT-2 itself has 12"] = 4
    dim: Annotated[Count, "features of a token, a multiple of heads; GPT-2 itself has 768"] = 128
    hidden: Annotated[Count | None, "features between the maps of an MLP; default 4 dim"] = None


@models.register("gpt2")
def gpt2(inputs: Tokens, outputs: int, *, sizes: GPT2Sizes) -> nn.Module:
    """The architecture of GPT-2: learned positions, layer norm, GELU by tanh, the last map tied to the embedding."""
    return TransformerLanguageModel(inputs.vocabulary, inputs.context, **asdict(sizes), approximate="tanh", **GPT2)


@dataclass(frozen=True, kw_only=True)
class LlamaSizes(DecoderSizes):
    """How large a Llama is."""

    dim: Annotated[Count, "features of a token, an even multiple of heads"] = 128
    hidden: Annotated[Count | None, "features between the maps of an MLP; default 8/3 dim"] = None


@models.register("llama")
def llama(inputs: Tokens, outputs: int, *, sizes: LlamaSizes, tied: Tied = False) -> nn.Module:
    """The architecture of Llama: rotary positions, RMS norm, gated MLPs, no biases."""
    return TransformerLanguageModel(inputs.vocabulary, inputs.context, **asdict(sizes), tied=tied, **LLAMA)
