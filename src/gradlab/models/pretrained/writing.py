"""From a model of ours to a folder of Hugging Face."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.files import write_folder
from gradlab.files.tensors import save_tensors
from gradlab.models.language import MaskedLanguageModel, TextClassifier, TransformerLanguageModel
from gradlab.models.pretrained.architecture import Architecture, Config
from gradlab.models.pretrained.decoders import GPT2, LLAMA
from gradlab.models.pretrained.encoder_decoders import MARIAN, T5
from gradlab.models.pretrained.encoders import CLASSIFIER, MASKED
from gradlab.models.pretrained.reading import CONFIG, WEIGHTS
from gradlab.models.seq2seq import EncoderDecoderModel, SourceEncoder, TargetDecoder


def save_pretrained(model: nn.Module, folder: str | Path, *, tokenizer: str | None = None) -> Path:
    """Write a model as Hugging Face does: config.json and model.safetensors, and a tokenizer.json if there is one.

    `AutoModelForCausalLM.from_pretrained(folder)` then gives the same logits, as do `AutoModelForMaskedLM` and
    `AutoModelForSequenceClassification` for encoders. A model that is none of theirs is refused. The folder appears
    by one rename, or not at all. Dropout is written where they have it.
    """
    architecture = _architecture(model)
    files = {CONFIG: json.dumps(_config(architecture, model), indent=2) + "\n"}
    if tokenizer is not None:
        files["tokenizer.json"] = tokenizer
        # Otherwise their library takes the class that goes with the model, which need not fit.
        files["tokenizer_config.json"] = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}, indent=2) + "\n"
    return _write(Path(folder), files, _weights(architecture, model))


def _architecture(model: nn.Module) -> Architecture:
    """The architecture that a model is of, or the setting that keeps it from being one."""
    if isinstance(model, TransformerLanguageModel):
        nearest = LLAMA if model.settings.position == "rotary" else GPT2
    elif isinstance(model, MaskedLanguageModel | TextClassifier):
        nearest = MASKED if isinstance(model, MaskedLanguageModel) else CLASSIFIER
    elif isinstance(model, EncoderDecoderModel) and _of_transformers(model):
        nearest = T5 if model.decoder.settings.position == "bucketed" else MARIAN  # type: ignore[union-attr]
    else:
        kinds = "TransformerLanguageModel, MaskedLanguageModel, TextClassifier, and transformers for pairs of texts"
        raise GradlabError(f"A {type(model).__name__} has no format of Hugging Face here. These have one: {kinds}.")
    values = nearest.describe(model)
    for name, value in nearest.needs.items():
        if values[name] != value:
            raise GradlabError(
                f"The model has no format of Hugging Face: the nearest is {nearest.name}, which has {name}="
                f"{_plain(value)}, and this model has {name}={_plain(values[name])}."
            )
    return nearest


def _of_transformers(model: EncoderDecoderModel) -> bool:
    return isinstance(model.encoder, SourceEncoder) and isinstance(model.decoder, TargetDecoder)


def _plain(value: Any) -> str:
    return str(value).lower()


def _config(architecture: Architecture, model: nn.Module) -> Config:
    values = architecture.describe(model)
    config = {setting.theirs: setting.write(values[setting.ours]) for setting in architecture.settings}
    return {
        "architectures": [architecture.name],
        "model_type": architecture.family,
        "bos_token_id": None,
        "eos_token_id": None,
        **config,
        **dict.fromkeys(architecture.dropouts, values["dropout"]),
        "dtype": str(next(model.parameters()).dtype).removeprefix("torch."),
        **architecture.more(config),
    }


def _weights(architecture: Architecture, model: nn.Module) -> dict[str, Tensor]:
    state = {name: tensor.detach().cpu() for name, tensor in architecture.state(model).items()}
    values = architecture.describe(model)
    rows = [row for row in architecture.layered(values) if row.ours in state]
    others = sorted(state.keys() - {row.ours for row in rows})
    if others:
        raise GradlabError(f"The model has weights that a {architecture.name} has not: {', '.join(others[:3])}.")
    return {name: tensor for row in rows for name, tensor in row.split(state[row.ours], values).items()}


def _write(folder: Path, files: dict[str, str], weights: dict[str, Tensor]) -> Path:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise GradlabError(f"{folder} exists already. Name another folder.")
    with write_folder(folder) as new:
        for name, text in files.items():
            (new / name).write_bytes(text.encode())
        save_tensors(new / WEIGHTS, weights, metadata={"format": "pt"})
    return folder
