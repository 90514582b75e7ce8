"""Text as a source of data: a corpus, its tokenizer, and windows of its tokens."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import torch

from gradlab import specs
from gradlab.data.dataset import Dataset, Limit, sources
from gradlab.data.examples import Examples
from gradlab.data.memory import memory_for_data
from gradlab.data.preparation import Preparation
from gradlab.data.raw import Targets, UnsuitableData, Wants
from gradlab.data.text.corpus import Corpus, pydoc_topics, stdlib_source, text_files
from gradlab.data.text.kinds import Kind, Vocabulary
from gradlab.data.text.masking import Masked
from gradlab.data.text.stream import Tokens, tokenised
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.files import check_content
from gradlab.registry import Count, Fraction
from gradlab.wording import count


@dataclass(frozen=True)
class Context(Preparation):
    """How a model sees text: so many tokens at once, by this tokenizer."""

    context: Count
    tokenizer: str
    """As JSON, in the format of the tokenizers library."""

    vocabulary: Count
    """Tokens that it knows."""

    @property
    def spec(self) -> specs.Tokens:
        """What one example is, as the model sees it."""
        return specs.Tokens(self.context, self.vocabulary)

    kind: ClassVar[str] = "text"

    def describe(self) -> dict[str, Any]:
        return {"context": self.context}

    def files(self) -> dict[str, str]:
        return {"tokenizer.json": self.tokenizer}

    def words(self) -> dict[str, str]:
        return {"an example": f"{self.context} tokens, and those after each"}

    @classmethod
    def read_back(cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]) -> "Context":
        known = {"vocabulary": targets["tokens"], **described, "tokenizer": read("tokenizer.json")}
        return check_content(known, cls, "data.json (inputs)")


@dataclass(frozen=True)
class Text:
    """A corpus that was read: what a user should know of it, and what it is known by."""

    corpus: Corpus
    key: str
    notes: list[str] = field(default_factory=list)
    reader: Any = None

    def fingerprint(self) -> str:
        return self.key


def prepare_text(
    corpus: Corpus,
    wants: Wants | None = None,
    *,
    tokenizer: Annotated[Kind, "what a token is: a byte, a character, a word, or a piece of one (bpe)"] = "byte",
    vocabulary: Vocabulary = None,
    context: Annotated[Count, "tokens that a model sees at once"] = 128,
    validation: Annotated[
        Fraction, "share of the text, after the training part, that is held out while training"
    ] = 0.1,
    test: Annotated[Fraction, "share of the text, at its end, that is held out for the final figures"] = 0.1,
    limit: Limit = None,
    masked: Annotated[Fraction, "share of the tokens that task=masked hides; others hide none"] = 0.15,
) -> Dataset:
    """Divide the text, make a tokenizer of the training part, and cut the tokens of each part into windows.

    Where a task wants masks, a share of the tokens of each window is to be filled in; else all are, each from those
    before it.
    """
    if wants not in ("tokens", "masked"):
        raise UnsuitableData("is text, for task=language or task=masked. Texts with classes are data=texts.")
    masks = wants == "masked"
    parts = corpus.divide(validation, test)
    special = ["<pad>", "<mask>"] if masks else []
    trained = Tokenizer.train(tokenizer, parts[0].pieces(), vocabulary=vocabulary, special=special)
    tokens = [tokenised(part, trained) if len(part) else None for part in parts]
    if limit is not None and tokens[0] is not None:
        tokens[0] = replace(tokens[0], ids=tokens[0].ids[: limit * context + 1])
    hidden = max(1, round(masked * context)) if masks else 0
    train, validated, tested = (_examples(part, context, trained, hidden) for part in tokens)
    assert tokens[0] is not None
    statistics = tokens[0].statistics
    notes = [
        f"{count(corpus.size)} bytes of text, {count(len(tokens[0]))} tokens to train on, "
        f"{statistics.bytes / statistics.tokens:.2f} bytes each, of a vocabulary of {len(trained):,}"
    ]
    key = "-".join(part.key for part in tokens if part is not None)
    return Dataset(
        train=train,
        validation=validated,
        test=tested,
        raw=Text(corpus, key, notes),
        preprocessing=Context(context, trained.to_json(), len(trained)),
        targets=Targets(
            tokens=len(trained), token_bytes=trained.byte_counts.tolist() if trained.lossless else [], masked=hidden
        ),
    )


def _examples(tokens: Tokens | None, context: int, tokenizer: Tokenizer, hidden: int) -> Examples:
    if tokens is None:
        nothing = torch.zeros(0, context, dtype=torch.int64)
        return Examples.of(nothing, nothing)
    windows = Windows(tokens.ids, context)
    if tokens.ids.nbytes <= memory_for_data():
        windows = windows.resident(torch.device("cpu"))
    inputs: Windows | Masked = windows
    if hidden:
        first, vocabulary = max(tokenizer.special.values()) + 1, len(tokenizer)
        inputs = Masked(windows=windows, chosen=hidden, mask=tokenizer["<mask>"], first=first, vocabulary=vocabulary)
    return WindowExamples.over(inputs)


def new_text(path: str, preparation: Context, masked: int, suffixes: list[str]) -> Examples:
    """Another text, in the tokens and the windows of a model that was trained."""
    tokenizer = Tokenizer.from_json(preparation.tokenizer)
    return _examples(tokenised(text_files(path, suffixes), tokenizer), preparation.context, tokenizer, masked)


@sources.register("pydoc", shared=prepare_text)
def pydoc(seed: int) -> Corpus:
    """The English documentation of Python that every Python brings along: half a megabyte."""
    return pydoc_topics()


@sources.register("stdlib", shared=prepare_text)
def stdlib(
    seed: int, *, size: Annotated[Count | None, "at most so many bytes, in whole files from the first on"] = None
) -> Corpus:
    """The source of Python's own library: some 12 megabytes."""
    return stdlib_source(size)


@sources.register("text", shared=prepare_text)
def text(
    seed: int,
    *,
    path: Annotated[str, "a text file, or a folder of them"],
    suffixes: Annotated[list[str], "which files of a folder are read"] = [".txt"],  # noqa: B006
) -> Corpus:
    """Your own text."""
    return text_files(path, suffixes)
