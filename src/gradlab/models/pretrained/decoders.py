"""GPT-2 and Llama, as Hugging Face names their settings and weights."""

from collections.abc import Collection
from typing import Any, Literal

from torch import nn

from gradlab.models.language import presets
from gradlab.models.language.transformer import TransformerLanguageModel
from gradlab.models.pretrained.architecture import Architecture, Config, Row, Setting, Values, affine
from gradlab.registry import Count, Positive

GELU = {"gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "gelu": "none"}
GELUName = Literal["gelu_new", "gelu_pytorch_tanh", "gelu"]


def _described(model: TransformerLanguageModel) -> Values:
    first: Any = model.layers[0]
    sizes = {"vocabulary": model.vocabulary, "context": model.context, "hidden": first.mlp.hidden}
    heads = {"key_heads": first.attention.num_key_value_heads, "head_dim": first.attention.head_dim}
    return {**vars(model.settings), **sizes, **heads}


def _gpt2(values: Values) -> nn.Module:
    return TransformerLanguageModel(**values, **presets.GPT2)


def with_usual_heads(values: Values) -> Values:
    """With no word of heads where they are the usual ones."""
    usual = {"key_heads": values["heads"], "head_dim": values["dim"] // values["heads"]}
    return values | {name: None for name, value in usual.items() if values[name] == value}


GPT2 = Architecture(
    name="GPT2LMHeadModel",
    family="gpt2",
    base="transformer.",
    settings=(
        Setting("vocabulary", "vocab_size", Count, 50257),
        Setting("context", "n_positions", Count, 1024),
        Setting("dim", "n_embd", Count, 768),
        Setting("layers", "n_layer", Count, 12),
        Setting("heads", "n_head", Count, 12),
        Setting("hidden", "n_inner", Count | None, None),
        Setting("eps", "layer_norm_epsilon", Positive, 1e-5),
        Setting("approximate", "activation_function", GELUName, "gelu_new", GELU),
        Setting("tied", "tie_word_embeddings", bool, True),
    ),
    dropouts={"resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1},
    fixed={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
    needs={**presets.GPT2, "key_heads": None, "head_dim": None},
    rows=(
        Row("embedding.weight", ("transformer.wte.weight",)),
        Row("position.weight", ("transformer.wpe.weight",)),
        *affine("layers.*.norm1", "transformer.h.*.ln_1"),
        Row("layers.*.attention.in_proj_weight", ("transformer.h.*.attn.c_attn.weight",), transposed=True),
        Row("layers.*.attention.in_proj_bias", ("transformer.h.*.attn.c_attn.bias",)),
        *affine("layers.*.attention.out_proj", "transformer.h.*.attn.c_proj", transposed=True),
        *affine("layers.*.norm2", "transformer.h.*.ln_2"),
        *affine("layers.*.mlp.linear1", "transformer.h.*.mlp.c_fc", transposed=True),
        *affine("layers.*.mlp.linear2", "transformer.h.*.mlp.c_proj", transposed=True),
        *affine("norm", "transformer.ln_f"),
        Row("head.weight", ("lm_head.weight",)),
    ),
    build=_gpt2,
    describe=lambda model: with_usual_heads(_described(model)),
    copies={"lm_head.weight": "transformer.wte.weight"},
    unused=("transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias"),
)


def _llama(values: Values) -> nn.Module:
    return TransformerLanguageModel(**values, **presets.LLAMA)


def _with_rotation(config: Config, names: Collection[str]) -> Config:
    """With the settings of the rotation beside the others; older files have them there, but for a scaling."""
    settings = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rotation = settings if isinstance(settings, dict) else {"rope_type": settings}
    return {**config, "rope_type": rotation.get("type", "default"), **rotation}


LLAMA = Architecture(
    name="LlamaForCausalLM",
    family="llama",
    base="model.",
    settings=(
        Setting("vocabulary", "vocab_size", Count, 32000),
        Setting("context", "max_position_embeddings", Count, 2048),
        Setting("dim", "hidden_size", Count, 4096),
        Setting("layers", "num_hidden_layers", Count, 32),
        Setting("heads", "num_attention_heads", Count, 32),
        Setting("key_heads", "num_key_value_heads", Count | None, None),
        Setting("head_dim", "head_dim", Count | None, None),
        Setting("hidden", "intermediate_size", Count, 11008),
        Setting("eps", "rms_norm_eps", Positive, 1e-6),
        Setting("rotary_base", "rope_theta", Positive, 10000.0),
        Setting("tied", "tie_word_embeddings", bool, False),
    ),
    dropouts={"attention_dropout": 0.0},
    fixed={
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "rope_type": "default",
        "partial_rotary_factor": 1.0,
    },
    needs=presets.LLAMA,
    rows=(
        Row("embedding.weight", ("model.embed_tokens.weight",)),
        Row("layers.*.norm1.weight", ("model.layers.*.input_layernorm.weight",)),
        Row(
            "layers.*.attention.in_proj_weight",
            tuple(f"model.layers.*.self_attn.{x}_proj.weight" for x in "qkv"),
            grouped=True,
        ),
        Row("layers.*.attention.out_proj.weight", ("model.layers.*.self_attn.o_proj.weight",)),
        Row("layers.*.norm2.weight", ("model.layers.*.post_attention_layernorm.weight",)),
        Row("layers.*.mlp.gate.weight", ("model.layers.*.mlp.gate_proj.weight",)),
        Row("layers.*.mlp.linear1.weight", ("model.layers.*.mlp.up_proj.weight",)),
        Row("layers.*.mlp.linear2.weight", ("model.layers.*.mlp.down_proj.weight",)),
        Row("norm.weight", ("model.norm.weight",)),
        Row("head.weight", ("lm_head.weight",)),
    ),
    build=_llama,
    describe=_described,
    copies={"lm_head.weight": "model.embed_tokens.weight"},
    unused=("model.layers.*.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"),
    flat=_with_rotation,
)
