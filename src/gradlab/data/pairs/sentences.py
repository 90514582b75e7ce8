"""Sentences as tokens: how sources and targets of pairs are cut, marked and padded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.text.sequences import Padded
from gradlab.data.text.source import Context
from gradlab.data.text.tokenizer import Ids, Tokenizer, Unknown
from gradlab.errors import GradlabError
from gradlab.files import check_content
from gradlab.registry import Count

SPECIAL = ("<pad>", "<bos>", "<eos>")
Side = Literal["source", "target"]


@dataclass(frozen=True)
class Sentences(Context):
    """One side of pairs of texts: at most `context` tokens, with that of the end and, of targets, of the beginning.

    The token 0 is padding.
    """

    kind: ClassVar[str] = "sentences"

    side: Side
    longest: Count
    """Tokens of the longest text that was trained on."""

    def describe(self) -> dict[str, Any]:
        return {"context": self.context, "vocabulary": self.vocabulary, "side": self.side, "longest": self.longest}

    @property
    def most_written(self) -> int:
        """Tokens after the first that a text is given: half as many again as the longest, and not beyond `context`."""
        return min(self.context, self.longest + self.longest // 2) - 1

    def files(self) -> dict[str, str]:
        return {_file(self.side): self.tokenizer}

    @classmethod
    def read_back(cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]) -> "Sentences":
        return check_content({**described, "tokenizer": read(_file(described["side"]))}, cls, "data.json (inputs)")

    @cached_property
    def encoder(self) -> Tokenizer:
        return Tokenizer.from_json(self.tokenizer)

    def encode(self, texts: Sequence[str], unknown: Unknown = "mark") -> list[Ids]:
        """The tokens of each text, between those that mark its ends."""
        first = [self.encoder["<bos>"]] if self.side == "target" else []
        last = [self.encoder["<eos>"]]
        return [np.concatenate([first, ids, last]).astype(np.int64) for ids in self.encoder.encode_many(texts, unknown)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, up to the one that ends it."""
        end = self.encoder["<eos>"]
        kept = list(tokens)
        return self.encoder.decode(kept[: kept.index(end)] if end in kept else kept)

    @classmethod
    def fitted(
        cls, side: Side, tokenizer: Tokenizer, context: int, texts: Sequence[str], training: npt.NDArray[np.int64]
    ) -> tuple["Sentences", list[Ids]]:
        """For texts such as these, and their tokens; `training` are the rows that are learned from."""
        fresh = cls(context, tokenizer.to_json(), len(tokenizer), side, context)
        encoded = fresh.encode(texts)
        longest = max(len(encoded[row]) for row in training)
        return replace(fresh, longest=min(longest, context)), encoded

    def padded(self, encoded: Sequence[Ids]) -> Padded:
        lengths = np.array([len(ids) for ids in encoded])
        return Padded.of(np.concatenate(encoded), np.cumsum(lengths) - lengths, min(self.context, int(lengths.max())))

    def __call__(self, texts: npt.NDArray[Any]) -> Padded:
        """New texts for the model, all of which it can read."""
        encoded = self.encode([str(text) for text in texts])
        for row, ids in enumerate(encoded):
            if len(ids) > self.context:
                raise GradlabError(
                    f"Text {row} (from 0) has {len(ids):,} tokens, and the model reads {self.context}. Shorten it, or "
                    "train with a larger data.context."
                )
        return self.padded(encoded)


def _file(side: Side) -> str:
    return f"{side}-tokenizer.json"
