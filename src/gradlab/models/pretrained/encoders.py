"""BERT and its heads, as Hugging Face names their settings and weights."""

from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor

from gradlab.models.language.encoder import MaskedLanguageModel, TextClassifier, TransformerEncoder
from gradlab.models.pretrained.architecture import Architecture, Config, Row, Setting, Values, affine
from gradlab.models.pretrained.decoders import GELU, GELUName
from gradlab.registry import Count, Fraction, Natural, Positive

_TYPES = 2  # of tokens in BERT: the first sentence and the second

_SETTINGS = (
    Setting("vocabulary", "vocab_size", Count, 30522),
    Setting("context", "max_position_embeddings", Count, 512),
    Setting("dim", "hidden_size", Count, 768),
    Setting("layers", "num_hidden_layers", Count, 12),
    Setting("heads", "num_attention_heads", Count, 12),
    Setting("hidden", "intermediate_size", Count, 3072),
    Setting("eps", "layer_norm_eps", Positive, 1e-12),
    Setting("types", "type_vocab_size", Count, _TYPES),
    Setting("padding", "pad_token_id", Natural | None, 0),
    Setting("approximate", "hidden_act", GELUName, "gelu", GELU),
)


def _encoder_rows(ours: str) -> tuple[Row, ...]:
    """The rows of an encoder whose name in our model is this."""
    layer = "bert.encoder.layer.*"
    parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
    return (
        Row(f"{ours}embedding.weight", ("bert.embeddings.word_embeddings.weight",)),
        Row(f"{ours}position.weight", ("bert.embeddings.position_embeddings.weight",)),
        Row(f"{ours}types.weight", ("bert.embeddings.token_type_embeddings.weight",)),
        *affine(f"{ours}norm", "bert.embeddings.LayerNorm"),
        Row(f"{ours}layers.*.attention.in_proj_weight", tuple(f"{part}.weight" for part in parts)),
        Row(f"{ours}layers.*.attention.in_proj_bias", tuple(f"{part}.bias" for part in parts)),
        *affine(f"{ours}layers.*.attention.out_proj", f"{layer}.attention.output.dense"),
        *affine(f"{ours}layers.*.norm1", f"{layer}.attention.output.LayerNorm"),
        *affine(f"{ours}layers.*.mlp.linear1", f"{layer}.intermediate.dense"),
        *affine(f"{ours}layers.*.mlp.linear2", f"{layer}.output.dense"),
        *affine(f"{ours}layers.*.norm2", f"{layer}.output.LayerNorm"),
    )


def _described(encoder: TransformerEncoder) -> Values:
    first: Any = encoder.layers[0]
    sizes = {"vocabulary": encoder.vocabulary, "context": encoder.context, "hidden": first.mlp.hidden}
    return {**vars(encoder.settings), **sizes, "types": encoder.settings.types or _TYPES}


def _state(model: MaskedLanguageModel | TextClassifier) -> dict[str, Tensor]:
    """Where an encoder has no types of tokens, BERT has some that add nothing."""
    weight = model.encoder.embedding.weight
    nothing = torch.zeros(_TYPES, model.encoder.dim, dtype=weight.dtype)
    return {"encoder.types.weight": nothing, **model.state_dict()}


_SHARED: Mapping[str, Any] = {
    "family": "bert",
    "base": "bert.",
    "dropouts": {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
    "state": _state,
}
_FIXED = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
_NEEDS = {"norm": "layer", "norm_first": False, "activation": None}
_POSITIONS = "bert.embeddings.position_ids"  # 0, 1, 2, …


def _masked(values: Values) -> MaskedLanguageModel:
    return MaskedLanguageModel(TransformerEncoder(**values))


MASKED = Architecture(
    **_SHARED,
    name="BertForMaskedLM",
    settings=_SETTINGS,
    fixed={**_FIXED, "tie_word_embeddings": True},
    needs=_NEEDS,
    rows=(
        *_encoder_rows("encoder."),
        *affine("dense", "cls.predictions.transform.dense"),
        *affine("norm", "cls.predictions.transform.LayerNorm"),
        Row("bias", ("cls.predictions.bias",)),
    ),
    build=_masked,
    describe=lambda model: _described(model.encoder),
    copies={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    unused=(_POSITIONS, "bert.pooler.*", "cls.seq_relationship.*"),
)


def _classifier(values: Values) -> TextClassifier:
    encoder = {name: value for name, value in values.items() if name not in ("classes", "pooled_dropout")}
    dropout = values["dropout"] if values["pooled_dropout"] is None else values["pooled_dropout"]
    return TextClassifier(TransformerEncoder(**encoder), values["classes"], dropout=dropout)


def _described_classifier(model: TextClassifier) -> Values:
    own = {"classes": model.classes, "pooling": model.pooling, "pooled_dropout": model.dropout.p}
    return {**_described(model.encoder), **own}


def _with_labels(config: Config, names: Collection[str]) -> Config:
    """The config may have the names of classes alone."""
    labels = config.get("id2label")
    return {**config, "num_labels": len(labels)} if isinstance(labels, dict) else config


CLASSIFIER = Architecture(
    **_SHARED,
    name="BertForSequenceClassification",
    settings=(
        *_SETTINGS,
        Setting("classes", "num_labels", Count, 2),
        Setting("pooled_dropout", "classifier_dropout", Fraction | None, None),
    ),
    fixed=_FIXED,
    needs={**_NEEDS, "pooling": "first"},
    rows=(*_encoder_rows("encoder."), *affine("pooler", "bert.pooler.dense"), *affine("head", "classifier")),
    build=_classifier,
    describe=_described_classifier,
    unused=(_POSITIONS,),
    flat=_with_labels,
)

ENCODER = Architecture(
    **_SHARED,
    name="BertModel",
    settings=_SETTINGS,
    fixed=_FIXED,
    needs=_NEEDS,
    rows=_encoder_rows(""),
    build=lambda values: TransformerEncoder(**values),
    describe=_described,
    unused=(_POSITIONS, "bert.pooler.*", "cls.*"),
)
