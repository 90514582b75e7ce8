"""Texts with classes: split, cut into tokens by a tokenizer made of the training split, and padded batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from gradlab.data.dataset import Classes, Dataset, Fold, Folds, Limit, SplitSeed, Test, Validation, split_rows
from gradlab.data.examples import Examples, Rows
from gradlab.data.preparation import Preparation
from gradlab.data.raw import Raw, Targets, Wants
from gradlab.data.text.corpus import Corpus
from gradlab.data.text.documents import Document
from gradlab.data.text.kinds import Kind, Vocabulary
from gradlab.data.text.sequences import Padded, PaddedExamples
from gradlab.data.text.source import Context
from gradlab.data.text.stream import tokenised
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.errors import GradlabError
from gradlab.registry import Count
from gradlab.wording import count


@dataclass(frozen=True, kw_only=True)
class Texts(Raw):
    """Documents with targets, before any split."""

    def _check_inputs(self) -> None:
        if self.inputs.ndim != 1 or not self.inputs.size:
            raise GradlabError(f"Texts must be an array of documents, got one of shape {self.inputs.shape}.")


@dataclass(frozen=True)
class LeadingTokens(Context):
    """How a classifier sees a text: its first tokens, so many at most, by this tokenizer. The token 0 is padding."""

    kind: ClassVar[str] = "texts"

    def describe(self) -> dict[str, Any]:
        return {"context": self.context, "vocabulary": self.vocabulary}

    def words(self) -> dict[str, str]:
        return {"an example": str(self.spec)}

    def __call__(self, texts: npt.NDArray[Any]) -> Padded:
        """Texts, or documents of them, for the model."""
        read = [text.read() if isinstance(text, Document) else str(text) for text in texts]
        for row, text in enumerate(read):
            if not text.strip():
                raise GradlabError(f"Text {row} (from 0) is empty: it cannot be classified.")
        encoded = self._tokenizer.encode_many(read)
        lengths = np.array([len(tokens) for tokens in encoded])
        return Padded.of(np.concatenate(encoded), np.cumsum(lengths) - lengths, self.context)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer.from_json(self.tokenizer)


def prepare_texts(
    raw: Raw,
    wants: Wants | None = None,
    origin: Preparation | None = None,
    *,
    tokenizer: Annotated[Kind, "what a token is: a byte, a character, a word, or a piece of one (bpe)"] = "word",
    vocabulary: Vocabulary = None,
    context: Annotated[Count, "tokens that a model sees of a text, from its beginning on"] = 256,
    classes: Classes = None,
    validation: Validation = 0.15,
    test: Test = None,
    folds: Folds = None,
    fold: Fold = 0,
    limit: Limit = None,
    seed: SplitSeed = 0,
) -> Dataset:
    """Split, make a tokenizer of the training split, unless one is given, and cut all texts into its tokens."""
    raw = raw.wanted(wants).of_classes(classes)
    train, validated, tested = split_rows(
        raw, validation=validation, test=test, folds=folds, fold=fold, limit=limit, seed=seed
    )
    if origin is not None:
        trained = _taken_over(origin, context)
    else:
        learned = (piece for document in raw.inputs[train] for piece in document)
        trained = Tokenizer.train(tokenizer, learned, vocabulary=vocabulary, special=["<pad>"])
    tokens = tokenised(Corpus(name="the texts", documents=list(raw.inputs)), trained)
    padded = Padded.of(tokens.ids, tokens.starts, context)
    lengths = np.diff(tokens.starts, append=len(tokens))
    notes = [f"{count(len(lengths))} texts of {np.median(lengths):.0f} tokens (median), vocabulary {len(trained):,}"]
    if longer := int((lengths > context).sum()):
        notes.append(f"Cut {longer:,} texts that are longer than {context} tokens; see data.context.")

    def examples(rows: Rows) -> Examples:
        # The longest first: neighbours, which are judged together, then need little padding.
        ordered = rows[np.argsort(-padded.lengths[rows], kind="stable")]
        kind = torch.int64 if raw.classes is not None else torch.float32
        return PaddedExamples.of(padded.subset(ordered), torch.from_numpy(raw.targets[ordered]).to(kind), ordered)

    return Dataset(
        train=examples(train),
        validation=examples(validated),
        test=examples(tested),
        raw=raw.noted(notes),
        preprocessing=LeadingTokens(context, trained.to_json(), len(trained)),
        targets=Targets.of(raw.targets[train], raw.classes),
    )


def _taken_over(origin: Preparation, context: int) -> Tokenizer:
    """The tokenizer by which a model was trained that is to read these texts."""
    if not isinstance(origin, LeadingTokens):
        raise GradlabError(f"train.from_run was trained on {origin.spec}, and these are texts. Take another run.")
    if origin.context != context:
        raise GradlabError(
            f"train.from_run reads {origin.context} tokens of a text, not {context}. Set data.context={origin.context}."
        )
    return Tokenizer.from_json(origin.tokenizer)


def as_array(documents: Sequence[Any]) -> npt.NDArray[Any]:
    """Documents, or texts, as they are: NumPy would look into them for numbers."""
    array = np.empty(len(documents), dtype=object)
    array[:] = documents
    return array
