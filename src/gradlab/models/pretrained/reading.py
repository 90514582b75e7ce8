"""From a folder of Hugging Face to a model of ours."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gradlab.errors import GradlabError, one_line
from gradlab.files import Damaged, check_path, interpreting, read_json
from gradlab.files.formats import Index
from gradlab.files.tensors import load_tensors
from gradlab.models.pretrained.architecture import Architecture, Config, Values
from gradlab.models.pretrained.decoders import GPT2, LLAMA
from gradlab.models.pretrained.encoder_decoders import MARIAN, T5
from gradlab.models.pretrained.encoders import CLASSIFIER, ENCODER, MASKED
from gradlab.printable import listed, printable
from gradlab.process import memory

Shapes = dict[str, tuple[int, ...]]
ARCHITECTURES = {each.name: each for each in (GPT2, LLAMA, MASKED, CLASSIFIER, ENCODER, MARIAN, T5)}
WEIGHTS, INDEX, CONFIG = "model.safetensors", "model.safetensors.index.json", "config.json"

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}  # of norms, in files made from TensorFlow's
_MOST_LAYERS = 10_000  # which would take minutes to build, for nothing: no file has weights for them
_LONGEST_NAME = 255  # bytes
_NAMED = 3  # tensors that a message names
_SAVE_AGAIN = "Save the model again, in the format safetensors."


def from_pretrained(folder: str | Path, *, dropout: float | None = None) -> nn.Module:
    """The model in a folder of Hugging Face: config.json, and model.safetensors or several such files and their index.

    GPT2LMHeadModel and LlamaForCausalLM become a `TransformerLanguageModel`, BertForMaskedLM a `MaskedLanguageModel`,
    BertForSequenceClassification a `TextClassifier`, and BertModel a `TransformerEncoder`, without its pooler;
    MarianMTModel and T5ForConditionalGeneration become an `EncoderDecoderModel`. Logits are the same, where no padding
    is looked at: an encoder leaves it out unless told by a mask. What a model here cannot do is refused.

    The model is in evaluation mode, in the dtype of the file. `dropout` is for training on; without it, it is theirs,
    if that is one probability for all places.
    """
    check_path(folder, "folder")
    path = Path(folder)
    config = read_config(path)
    architecture = architecture_of(config, path)
    read = _read(path)
    with interpreting(path / CONFIG, _SAVE_AGAIN):
        values = architecture.arguments(config, read, str(path / CONFIG), dropout)
        for count in {row.count for row in architecture.rows}:
            if values[count] > _MOST_LAYERS:
                raise ValueError(f"{values[count]:,} layers")
        model = _build(architecture, values, path / CONFIG)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    rows = [row for row in architecture.layered(values) if row.ours in shapes]
    wanted: Shapes = {}
    for row in rows:
        wanted |= zip(row.theirs, row.shapes(shapes[row.ours], values), strict=True)
    tensors = _checked(_named(read, architecture, wanted), architecture, wanted, path)
    del read
    dtype = reduce(torch.promote_types, (tensor.dtype for tensor in tensors.values()))
    joined: dict[tuple[str, ...], Tensor] = {}
    for row in rows:
        if row.theirs not in joined:  # what layers share is read once
            joined[row.theirs] = row.join([tensors.pop(n) for n in row.theirs]).to(dtype)
    model.load_state_dict({row.ours: joined[row.theirs] for row in rows}, assign=True)
    return model.eval()


def _build(architecture: Architecture, values: Values, source: Path) -> nn.Module:
    """The model without memory for its weights, so that sizes of any kind are compared with the file's first."""
    try:
        with torch.device("meta"), _Undrawn():
            return architecture.build(values)
    except GradlabError as error:
        raise GradlabError(f"{source}: {error}") from None
    except RuntimeError as error:  # of torch, whose sizes are limited too
        raise ValueError(one_line(error)) from None


class _Undrawn(TorchFunctionMode):
    """No random numbers meanwhile: they would be for nothing, and on the device meta load the compiler for seconds."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.__name__ in ("normal_", "uniform_", "kaiming_uniform_"):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def read_config(folder: Path) -> Config:
    """What config.json holds."""
    return read_json(folder / CONFIG, dict[str, Any], _SAVE_AGAIN)


def architecture_of(config: Config, folder: Path) -> Architecture:
    """The architecture that a config names, if it is one of ours."""
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    if name not in ARCHITECTURES:
        named = f"the architecture {printable(name, 100)}" if name else "no architecture"
        raise GradlabError(
            f"{folder / CONFIG} names {named}, which gradlab cannot read. It reads: {', '.join(ARCHITECTURES)}."
        )
    return ARCHITECTURES[name]


def _read(folder: Path) -> dict[str, Tensor]:
    """The tensors of all files, as these name them."""
    files = [folder / WEIGHTS]
    if not files[0].exists() and (folder / INDEX).exists():
        places = read_json(folder / INDEX, Index, _SAVE_AGAIN)["weight_map"].values()
        if not all(map(_is_name_of_weights, places)):
            raise Damaged(folder / INDEX, "its weight_map must name files of its folder", _SAVE_AGAIN)
        files = [folder / name for name in sorted({*places})]
    if (size := sum(file.stat().st_size for file in files if file.exists())) > memory():
        raise GradlabError(f"The weights in {folder} take {size / 1e9:,.1f} GB, more than the memory of this machine.")
    tensors: dict[str, Tensor] = {}
    for file in files:
        if not file.exists():
            pickles = [*folder.glob("*.bin")]
            hint = f" {pickles[0].name} is a pickle, which may run any code and is not read." if pickles else ""
            raise GradlabError(f"{file} is missing.{hint} {_SAVE_AGAIN}")
        tensors |= load_tensors(file, _SAVE_AGAIN)
    return tensors


def _is_name_of_weights(name: str) -> bool:
    """Whether it names a file of weights next to its index, which a file system can have."""
    return name.endswith(".safetensors") and Path(name).name == name and len(os.fsencode(name)) <= _LONGEST_NAME


def _named(tensors: dict[str, Tensor], architecture: Architecture, wanted: Shapes) -> dict[str, Tensor]:
    """The tensors by today's names: with the name of the base model before them, and of norms those of PyTorch."""

    def known(name: str) -> bool:
        return name in wanted or name in architecture.copies or _matches(name, architecture.unused)

    def today(name: str) -> str:
        for old, new in _OLD_NAMES.items():
            name = name.removesuffix(old) + new if name.endswith(old) else name
        return architecture.base + name if not known(name) and known(architecture.base + name) else name

    return {today(name): tensor for name, tensor in tensors.items()}


def _checked(tensors: dict[str, Tensor], architecture: Architecture, wanted: Shapes, folder: Path) -> dict[str, Tensor]:
    """The tensors that are wanted, if they are there, of the right shapes, and nothing else is."""

    def refuse(names: list[str], what: str) -> None:
        if names:
            raise GradlabError(
                f"The weights in {folder} do not fit its config.json: {what} {listed(names, _NAMED, 200)}."
            )

    def size(shape: Sequence[int]) -> str:
        return " × ".join(map(str, shape))

    refuse([name for name in wanted if name not in tensors], "there is no")
    chosen = {name: tensors[name] for name in wanted}
    refuse(
        [f"{n} is {size(t.shape)} instead of {size(wanted[n])}" for n, t in chosen.items() if t.shape != wanted[n]],
        "the shape of",
    )
    refuse([f"{n} is {t.dtype}" for n, t in chosen.items() if t.dtype not in _DTYPES], "the type of")
    others = {n: t for n, t in tensors.items() if n not in wanted and not _matches(n, architecture.unused)}
    copies = architecture.copies

    def original(name: str) -> Tensor:
        return chosen[name] if name in chosen else original(copies[name])

    refuse([n for n in others if n not in copies], f"a {architecture.name} has no")
    refuse([n for n, t in others.items() if not torch.equal(t, original(n))], "tied to another, but not equal is")
    return chosen


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
