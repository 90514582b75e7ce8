"""A language model that a command lets write: of a run, or of a folder of Hugging Face."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gradlab.api import check_fits, from_pretrained, load_run
from gradlab.data import Tokenizer
from gradlab.data.text.decoding import Decoding
from gradlab.errors import GradlabError
from gradlab.models import MaskedLanguageModel, TextClassifier, TransformerEncoder
from gradlab.models.cost import parameter_count
from gradlab.models.pretrained.reading import read_config

_SMALL = 2**23  # parameters: with fewer, one token is so little work that threads wait for each other (`bench decode`)


@dataclass(frozen=True)
class Writer:
    """A language model, and how its tokens are text."""

    path: Path
    model: nn.Module
    tokenizer: Tokenizer
    allowed: range | None = None
    """The tokens that stand for something, if the model has embeddings of more."""

    eos: list[int] = field(default_factory=list)
    """Tokens that end a text."""

    template: bool = False
    """Whether a prompt gets the special tokens that the tokenizer puts around a text."""

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer.encode(text, unknown="refuse").tolist()
        if not tokens:
            raise GradlabError("The prompt is empty. Give at least one character, or leave it out.")
        return self.tokenizer.inner.encode(text).ids if self.template else tokens

    def decoding(self, tokens: list[int], text: str) -> Decoding:
        """What gives the text of the tokens after those of a prompt."""
        decoding = Decoding(self.tokenizer)
        # A word has a blank before it, unless the prompt ends with one.
        for token in [] if self.tokenizer.kind == "word" and text[-1].isspace() else tokens:
            decoding(token)
        return decoding


def open_writer(folder: Path) -> Writer:
    """The language model in a folder."""
    is_run = (folder / "recipe.toml").is_file() or not (folder / "config.json").is_file()
    writer = _of_run(folder) if is_run else _of_hugging_face(folder)
    if parameter_count(writer.model) < _SMALL:
        torch.set_num_threads(1)
    return writer


def _of_run(folder: Path) -> Writer:
    run = load_run(folder)
    if run.recipe.task.name != "language":
        used = f" Use gradlab predict {folder}." if run.task.use == "predict" else ""
        raise GradlabError(f"{folder} neither writes nor draws: its task is {run.recipe.task.name}.{used}")
    tokens, trained = len(run.tokenizer), run.data["targets"]["tokens"]
    if tokens != trained:
        raise GradlabError(
            f"{folder / 'tokenizer.json'} does not fit the weights: it has {tokens:,} tokens, and the model was "
            f"trained with {trained:,}. Bring back the one of the training."
        )
    return Writer(folder, _writing(run.model, folder), run.tokenizer)


def _of_hugging_face(folder: Path) -> Writer:
    model = _writing(from_pretrained(folder, dropout=0.0), folder)
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise GradlabError(f"{path} is missing. Save it there: tokenizer.save_pretrained({str(folder)!r}).")
    tokenizer = Tokenizer.load(path)
    check_fits(tokenizer, model.vocabulary, str(path))
    ends: Any = read_config(folder).get("eos_token_id")
    eos = [end for end in (ends if isinstance(ends, list) else [ends]) if end in range(model.vocabulary)]
    allowed = range(len(tokenizer)) if len(tokenizer) < model.vocabulary else None
    return Writer(folder, model, tokenizer, allowed, eos, template=True)


def _writing(model: Any, folder: Path) -> Any:
    """The model, unless it is one that only reads."""
    if isinstance(model, MaskedLanguageModel | TextClassifier | TransformerEncoder):
        raise GradlabError(f"{folder} holds an encoder, which reads texts and writes none. Give a language model.")
    return model
