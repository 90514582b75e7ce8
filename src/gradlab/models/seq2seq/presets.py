"""Marian and T5: what they are among transformers that write a target for a source, at any size."""

from typing import Annotated, Any

import torch
from torch import nn

from gradlab.models.language.settings import TransformerSizes
from gradlab.models.registry import models
from gradlab.models.seq2seq.transformer import DecoderLayers, transformer_seq2seq
from gradlab.nn.attention import MultiheadAttention
from gradlab.registry import Part
from gradlab.specs import Pair

MARIAN: dict[str, Any] = {
    "attention": "scaled_dot",
    "attention_scale": None,
    "head_dim": None,
    "key_heads": None,
    "position": "sinusoidal",
    "sinusoids": "table",
    "norm": "layer",
    "eps": 1e-5,
    "norm_first": False,
    "gated": False,
    "bias": True,
    "tied": True,
    "output_scaled": False,
}
T5: dict[str, Any] = {
    "attention": "scaled_dot",
    "attention_scale": 1.0,
    "key_heads": None,
    "position": "bucketed",
    "norm": "rms",
    "norm_first": True,
    "bias": False,
    "embedding_scaled": False,
    "output_bias": False,
}
RELU: dict[str, Any] = {"gated": False, "activation": Part("relu"), "tied": True, "output_scaled": True}
GATED: dict[str, Any] = {
    "gated": True,
    "activation": Part("gelu", {"approximate": "tanh"}),
    "tied": False,
    "output_scaled": False,
}


@models.register("marian")
def marian(inputs: Pair, outputs: int, *, sizes: TransformerSizes, decoder_layers: DecoderLayers = None) -> nn.Module:
    """The architecture of Marian, that of 2017: sinusoidal positions, norms after the sums, SiLU, tied embeddings.

    Those of OPUS have 6 layers in each stack, of 8 heads and 512 features.
    """
    settings = {**vars(sizes), "decoder_layers": decoder_layers, "activation": Part("silu"), "output_bias": True}
    return transformer_seq2seq(inputs, **settings, **MARIAN)


@models.register("t5")
def t5(
    inputs: Pair,
    outputs: int,
    *,
    sizes: TransformerSizes,
    decoder_layers: DecoderLayers = None,
    gated: Annotated[bool, "that of T5 1.1: gated MLPs, and a last map of its own"] = False,
) -> nn.Module:
    """The architecture of T5: buckets of relative positions, RMS norms, attention without a scale, no biases.

    The small one has 6 layers in each stack, of 8 heads and 512 features.
    """
    form = GATED if gated else RELU
    model = transformer_seq2seq(inputs, **vars(sizes), decoder_layers=decoder_layers, **form, **T5)
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, MultiheadAttention):  # the scale that the attention has not is in its first weights
                part.in_proj_weight[: part.rows[0]] *= part.head_dim**-0.5
    return model
