"""Pairs as they are in the world: sources, and a text for each."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy.typing as npt

from gradlab.data.raw import Raw, UnsuitableData, Wants
from gradlab.data.reading import Reader
from gradlab.data.text.corpus import Corpus
from gradlab.data.text.documents import Document
from gradlab.data.text.texts import as_array
from gradlab.errors import GradlabError

_SHOWN = 5  # pairs

Where = Callable[[int], str]
"""Where a user finds the example of a number."""


class Region(NamedTuple):
    """A thing in a picture that its caption names: the characters that do so, and the box of its pixels."""

    characters: slice
    box: tuple[int, int, int, int]
    """Left, top, right and bottom; the last two are behind the last pixel."""


@dataclass(frozen=True, kw_only=True)
class Pairs(Raw):
    """Sources (texts, or pictures) with their targets, which are texts."""

    where: Where = "pair {}".format
    regions: npt.NDArray[Any] | None = None
    """Where it is known what is in the pictures: a list of `Region`s for each."""

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.targets):
            raise GradlabError(f"There are {len(self.inputs)} sources but {len(self.targets)} targets.")
        if not len(self.inputs):
            raise GradlabError("There are no pairs to learn from.")

    def wanted(self, wants: Wants | None) -> Raw:
        if wants not in (None, "pairs"):
            raise UnsuitableData("is pairs of a source and a target, of which task=seq2seq can learn.")
        return self

    @classmethod
    def of_texts(
        cls,
        sources: Sequence[str],
        targets: Sequence[str],
        where: Where,
        reader: Reader,
        *,
        starts: dict[str, int] | None = None,
        **more: Any,
    ) -> "Pairs":
        """Pairs of texts; `starts` is where their own splits begin."""
        starts = starts or {}
        content = [list(sources), list(targets), starts]
        return cls(
            inputs=as_array(sources),
            targets=as_array(targets),
            where=where,
            reader=reader,
            key=hashlib.sha256(json.dumps(content).encode()).hexdigest(),
            validation_from=starts.get("validation"),
            test_from=starts.get("test"),
            **more,
        )

    @classmethod
    def of_pictures(
        cls, pixels: npt.NDArray[Any], captions: Sequence[str], content: str, where: Where, reader: Reader, **more: Any
    ) -> "Pairs":
        """Pictures with their captions; `content` is the SHA-256 of the pictures."""
        key = hashlib.sha256(json.dumps([content, list(captions)]).encode()).hexdigest()
        return cls(inputs=pixels, targets=as_array(captions), where=where, reader=reader, key=key, **more)

    def corpus(self) -> Corpus:
        """All of the text: the sources, where they are text, and the targets, one on each line."""
        sides = {"sources": self.inputs, "targets": self.targets}
        texts = {name: side for name, side in sides.items() if side.dtype == object}
        return Corpus(name="pairs", documents=[Document.of(n, "\n".join(map(str, t))) for n, t in texts.items()])

    @property
    def shown(self) -> list[str]:
        """The first few pairs, as people read them."""
        if self.inputs.dtype != object:
            return [str(text) for text in self.targets[:_SHOWN]]
        return [f"{source} → {target}" for source, target in zip(self.inputs[:_SHOWN], self.targets, strict=False)]
