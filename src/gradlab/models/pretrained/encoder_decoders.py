"""Marian and T5, as Hugging Face names their settings and weights."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.pretrained.architecture import Architecture, Config, Row, Setting, Values, affine
from gradlab.models.pretrained.decoders import with_usual_heads
from gradlab.models.seq2seq import EncoderDecoderModel, presets, transformer_seq2seq
from gradlab.nn.activations import GELU, ReLU, SiLU
from gradlab.registry import Count, Fraction, Natural, Part, Positive
from gradlab.specs import Pair, Tokens

BENDS = {
    "relu": Part("relu"),
    "silu": Part("silu"),
    "gelu": Part("gelu"),
    "gelu_new": Part("gelu", {"approximate": "tanh"}),
}
BendName = Literal["relu", "silu", "swish", "gelu", "gelu_new"]
MLPName = Literal["relu", "silu", "gelu", "gelu_new", "gated-relu", "gated-silu", "gated-gelu"]


def _built(values: Values, preset: Values) -> EncoderDecoderModel:
    sizes = ("vocabulary", "target_vocabulary", "context", "shared")
    vocabulary, target, context, shared = (values[name] for name in sizes)
    pair = Pair(Tokens(context, vocabulary), Tokens(context, target or vocabulary), shared)
    ours = {name: value for name, value in values.items() if name not in sizes}
    return transformer_seq2seq(pair, **ours | {"activation": BENDS[values["activation"]]}, **preset)


def _described(model: Any) -> Values:
    encoder, decoder = model.encoder, model.decoder
    first, own = encoder.layers[0], decoder.settings
    return {
        **vars(own),
        "vocabulary": encoder.embedding.num_embeddings,
        "target_vocabulary": decoder.embedding.num_embeddings,
        "shared": encoder.embedding is decoder.embedding,
        "context": max(encoder.context, decoder.context),
        "decoder_layers": len(decoder.layers),
        "hidden": first.mlp.hidden,
        "activation": _bend(first.mlp.activation),
        "key_heads": first.attention.num_key_value_heads,
        "head_dim": first.attention.head_dim,
        "start": own.padding if own.start is None else own.start,
    }


def _bend(activation: nn.Module) -> str:
    """Their word for it."""
    if isinstance(activation, GELU):
        return "gelu_new" if activation.approximate == "tanh" else "gelu"
    words: dict[type[nn.Module], str] = {ReLU: "relu", SiLU: "silu"}
    if type(activation) not in words:
        raise GradlabError(f"The model has no format of Hugging Face here: its MLPs have {activation}.")
    return words[type(activation)]


# Marian


def _marian(values: Values) -> nn.Module:
    for name, theirs in (("heads", "attention_heads"), ("hidden", "ffn_dim")):
        if values[name] != values[f"decoder_{name}"]:
            raise GradlabError(f"A MarianMTModel here has the same {theirs} in encoder and decoder, as they are not.")
    ours = {name: value for name, value in values.items() if name not in ("decoder_heads", "decoder_hidden")}
    return _built(ours, {**presets.MARIAN, "output_bias": True})


def _described_marian(model: Any) -> Values:
    values = with_usual_heads(_described(model))
    inner = {name: values["dropout"] if values[name] is None else values[name] for name in _INNER}
    return {**values, **inner, "decoder_heads": values["heads"], "decoder_hidden": values["hidden"]}


def _marian_state(model: nn.Module) -> dict[str, Tensor]:
    """With a bias of the logits, where ours has none."""
    state = model.state_dict()
    zeros = torch.zeros(len(state["decoder.embedding.weight"]), dtype=state["decoder.embedding.weight"].dtype)
    return {"decoder.bias": zeros, **state}


def _marian_rows(half: str, *parts: tuple[str, str, str]) -> tuple[Row, ...]:
    """The rows of a stack: its MLP, and attentions with their norms, in our words and theirs."""
    ours, theirs = f"{half}.layers.*", f"model.{half}.layers.*"
    rows = [
        *affine(f"{ours}.mlp.linear1", f"{theirs}.fc1"),
        *affine(f"{ours}.mlp.linear2", f"{theirs}.fc2"),
        *affine(f"{ours}.norm2", f"{theirs}.final_layer_norm"),
    ]
    for attention, norm, name in parts:
        rows += [
            *(
                Row(f"{ours}.{attention}.in_proj_{kind}", tuple(f"{theirs}.{name}.{x}_proj.{kind}" for x in "qkv"))
                for kind in ("weight", "bias")
            ),
            *affine(f"{ours}.{attention}.out_proj", f"{theirs}.{name}.out_proj"),
            *affine(f"{ours}.{norm}", f"{theirs}.{name}_layer_norm"),
        ]
    return _of_stack(rows, half)


def _of_stack(rows: list[Row], half: str) -> tuple[Row, ...]:
    return tuple(replace(row, count="decoder_layers" if half == "decoder" else "layers") for row in rows)


_INNER = ("attention_dropout", "mlp_dropout")
_SELF = ("attention", "norm1", "self_attn")

MARIAN = Architecture(
    name="MarianMTModel",
    family="marian",
    base="model.",
    settings=(
        Setting("vocabulary", "vocab_size", Count, 58101),
        Setting("target_vocabulary", "decoder_vocab_size", Count | None, None),
        Setting("shared", "share_encoder_decoder_embeddings", bool, True),
        Setting("context", "max_position_embeddings", Count, 1024),
        Setting("dim", "d_model", Count, 1024),
        Setting("layers", "encoder_layers", Count, 12),
        Setting("decoder_layers", "decoder_layers", Count, 12),
        Setting("heads", "encoder_attention_heads", Count, 16),
        Setting("decoder_heads", "decoder_attention_heads", Count, 16),
        Setting("hidden", "encoder_ffn_dim", Count, 4096),
        Setting("decoder_hidden", "decoder_ffn_dim", Count, 4096),
        Setting("activation", "activation_function", BendName, "gelu", {"silu": "silu", "swish": "silu"}),
        Setting("embedding_scaled", "scale_embedding", bool, False),
        Setting("padding", "pad_token_id", Natural, 58100),
        Setting("start", "decoder_start_token_id", Natural | None, 58100),
        Setting("end", "eos_token_id", Natural | None, 0),
        Setting("attention_dropout", "attention_dropout", Fraction, 0.0),
        Setting("mlp_dropout", "activation_dropout", Fraction, 0.0),
    ),
    dropouts={"dropout": 0.1},
    fixed={"tie_word_embeddings": True, "is_decoder": False},
    needs=presets.MARIAN,
    rows=(
        *(
            row
            for half in ("encoder", "decoder")
            for row in (
                Row(f"{half}.embedding.weight", ("model.shared.weight",), when=lambda values: values["shared"]),
                Row(
                    f"{half}.embedding.weight",
                    (f"model.{half}.embed_tokens.weight",),
                    when=lambda values: not values["shared"],
                ),
            )
        ),
        *_marian_rows("encoder", _SELF),
        *_marian_rows("decoder", _SELF, ("cross_attention", "norm3", "encoder_attn")),
        Row("decoder.bias", ("final_logits_bias",), lifted=True),
    ),
    build=_marian,
    describe=_described_marian,
    copies={
        "lm_head.weight": "model.decoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight": "model.shared.weight",
        "model.encoder.embed_tokens.weight": "model.shared.weight",
    },
    unused=("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"),
    state=_marian_state,
    more=lambda config: {"is_encoder_decoder": True, "forced_eos_token_id": config["eos_token_id"]},
)


# T5


def _gated(values: Values) -> bool:
    return str(values["mlp"]).startswith("gated-")


def _t5(values: Values) -> nn.Module:
    mlp = values["mlp"]
    bend = "gelu_new" if mlp == "gated-gelu" else mlp.removeprefix("gated-")
    ours = {name: value for name, value in values.items() if name != "mlp"}
    own = {"gated": _gated(values), "activation": bend, "shared": True, "target_vocabulary": None}
    return _built({**ours, **own}, presets.T5)


def _described_t5(model: Any) -> Values:
    values = _described(model)
    if values["gated"] and values["activation"] == "gelu":
        raise GradlabError("The model has no format of Hugging Face: gated MLPs of a T5 have GELU by tanh alone.")
    bend = "gelu" if values["gated"] and values["activation"] == "gelu_new" else values["activation"]
    usual = {"key_heads": None} if values["key_heads"] == values["heads"] else {}
    return {**values, **usual, "mlp": f"gated-{bend}" if values["gated"] else bend}


def _t5_rows(half: str, *attentions: tuple[str, str, str]) -> tuple[Row, ...]:
    """The rows of a stack: the last of its parts is the MLP, and those before are attentions."""
    ours, theirs = f"{half}.layers.*", f"{half}.block.*.layer"
    mlp = f"{theirs}.{len(attentions)}"
    rows = [
        Row(f"{ours}.mlp.linear1.weight", (f"{mlp}.DenseReluDense.wi.weight",), when=lambda v: not _gated(v)),
        Row(f"{ours}.mlp.gate.weight", (f"{mlp}.DenseReluDense.wi_0.weight",)),
        Row(f"{ours}.mlp.linear1.weight", (f"{mlp}.DenseReluDense.wi_1.weight",), when=_gated),
        Row(f"{ours}.mlp.linear2.weight", (f"{mlp}.DenseReluDense.wo.weight",)),
        Row(f"{ours}.norm2.weight", (f"{mlp}.layer_norm.weight",)),
        Row(
            f"{ours}.attention.score_bias.weight",
            (f"{half}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",),
            transposed=True,
        ),
        Row(f"{half}.norm.weight", (f"{half}.final_layer_norm.weight",)),
    ]
    for i, (attention, norm, name) in enumerate(attentions):
        rows += [
            Row(f"{ours}.{attention}.in_proj_weight", tuple(f"{theirs}.{i}.{name}.{x}.weight" for x in "qkv")),
            Row(f"{ours}.{attention}.out_proj.weight", (f"{theirs}.{i}.{name}.o.weight",)),
            Row(f"{ours}.{norm}.weight", (f"{theirs}.{i}.layer_norm.weight",)),
        ]
    return _of_stack(rows, half)


def _with_form(config: Config, names: Collection[str]) -> Config:
    """The last map is tied unless there is one; that of the first T5 is scaled, which its library tells by ties."""
    tied, layers = "lm_head.weight" not in names, config.get("num_decoder_layers") or config.get("num_layers", 6)
    scaled = {"scale_decoder_outputs": config.get("tie_word_embeddings") is not False}
    return {**scaled, **config, "tie_word_embeddings": tied, "num_decoder_layers": layers}


_T5_SELF = ("attention", "norm1", "SelfAttention")

T5 = Architecture(
    name="T5ForConditionalGeneration",
    family="t5",
    base="",
    settings=(
        Setting("vocabulary", "vocab_size", Count, 32128),
        Setting("context", "n_positions", Count, 512),
        Setting("dim", "d_model", Count, 512),
        Setting("layers", "num_layers", Count, 6),
        Setting("decoder_layers", "num_decoder_layers", Count, 6),
        Setting("heads", "num_heads", Count, 8),
        Setting("head_dim", "d_kv", Count, 64),
        Setting("hidden", "d_ff", Count, 2048),
        Setting("mlp", "feed_forward_proj", MLPName, "relu"),
        Setting("buckets", "relative_attention_num_buckets", Count, 32),
        Setting("max_distance", "relative_attention_max_distance", Count, 128),
        Setting("eps", "layer_norm_epsilon", Positive, 1e-6),
        Setting("tied", "tie_word_embeddings", bool, True),
        Setting("output_scaled", "scale_decoder_outputs", bool, True),
        Setting("padding", "pad_token_id", Natural, 0),
        Setting("start", "decoder_start_token_id", Natural | None, 0),
        Setting("end", "eos_token_id", Natural | None, 1),
    ),
    dropouts={"dropout_rate": 0.1},
    fixed={"is_decoder": False},
    needs={**presets.T5, "shared": True},
    rows=(
        Row("encoder.embedding.weight", ("shared.weight",)),
        Row("decoder.embedding.weight", ("shared.weight",)),
        *_t5_rows("encoder", _T5_SELF),
        *_t5_rows("decoder", _T5_SELF, ("cross_attention", "norm3", "EncDecAttention")),
        Row("decoder.head.weight", ("lm_head.weight",)),
    ),
    build=_t5,
    describe=_described_t5,
    copies={"encoder.embed_tokens.weight": "shared.weight", "decoder.embed_tokens.weight": "shared.weight"},
    unused=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),
    flat=_with_form,
    more=lambda config: {"is_encoder_decoder": True, "tie_word_embeddings": config["scale_decoder_outputs"]},
)
