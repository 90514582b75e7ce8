"""What a text holds, in figures: before it is divided and a model sees any of it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from gradlab.data.raw import Raw
from gradlab.data.text.corpus import Corpus
from gradlab.data.text.documents import Document
from gradlab.data.text.tokenizer import Tokenizer

Counts = npt.NDArray[np.int64]

_WORD = re.compile(r"\w+")
_COMMON = 20  # words and tokens that are listed
_LONGEST = 5  # lines that are shown
_CUT = 200  # characters that are shown of a line
_PIECE = 600  # characters that are shown of the text, from its beginning


@dataclass(frozen=True)
class LongLine:
    """Where it stands, how many characters it has, and how it begins."""

    document: str
    line: int
    characters: int
    text: str


@dataclass(frozen=True, kw_only=True)
class TextOverview:
    """Sizes, the most common words and tokens, the longest lines, and how the text begins."""

    documents: int
    bytes: int
    characters: int
    different_characters: int
    lines: int
    words: int
    different_words: int
    tokenizer: str
    tokens: int
    vocabulary: int
    common_words: dict[str, int]
    common_tokens: dict[str, int]
    longest_lines: list[LongLine]
    classes: dict[str, int] = field(default_factory=dict)
    """Texts of each, where they have classes."""

    text_tokens: dict[str, float] = field(default_factory=dict)
    """Tokens of a text, where each is an example: the fewest, the median and the most."""

    beginning: str
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, source: Corpus | Raw, kind: str, vocabulary: int | None) -> "TextOverview":
        """Of a corpus, or of texts with targets, cut by a tokenizer of this kind that is made of all of the text."""
        documents: list[Document] = list(source if isinstance(source, Corpus) else source.inputs)
        characters, words = Counter[str](), Counter[str]()
        for piece in _pieces(documents):
            characters.update(piece)
            words.update(_WORD.findall(piece))
        tokenizer = Tokenizer.train(kind, _pieces(documents), vocabulary=vocabulary)
        counts = np.zeros(len(tokenizer), dtype=np.int64)
        lengths = [_count(document, tokenizer, counts) for document in documents]
        texts = [] if isinstance(source, Corpus) else lengths
        names = [] if isinstance(source, Corpus) else source.classes or []
        return cls(
            documents=len(documents),
            bytes=sum(document.size for document in documents),
            characters=characters.total(),
            different_characters=len(characters),
            lines=sum(1 for document in documents for _ in _lines(document)),
            words=words.total(),
            different_words=len(words),
            tokenizer=kind,
            tokens=int(counts.sum()),
            vocabulary=len(tokenizer),
            common_words=dict(words.most_common(_COMMON)),
            common_tokens=_common_tokens(tokenizer, counts),
            longest_lines=_longest(documents),
            classes={} if isinstance(source, Corpus) else _classes(source, names),
            text_tokens={"least": min(texts), "median": float(np.median(texts)), "most": max(texts)} if texts else {},
            beginning="\n".join(islice(chain.from_iterable(map(_lines, documents)), _PIECE))[:_PIECE],
            notes=[] if isinstance(source, Corpus) else source.notes,
        )


def _pieces(documents: Iterable[Document]) -> Iterator[str]:
    return (piece for document in documents for piece in document)


def _count(document: Document, tokenizer: Tokenizer, counts: Counts) -> int:
    """How many tokens it has; each of them is counted."""
    before = int(counts.sum())
    for piece in document:
        counts += np.bincount(tokenizer.encode(piece), minlength=len(counts))
    return int(counts.sum()) - before


def _common_tokens(tokenizer: Tokenizer, counts: Counts) -> dict[str, int]:
    def name(token: int) -> str:
        return tokenizer.tokens[token].decode(errors="backslashreplace") or tokenizer.inner.id_to_token(token) or ""

    by_count = np.argsort(-counts, kind="stable")[:_COMMON].tolist()
    return {name(token): int(counts[token]) for token in by_count if counts[token]}


def _classes(source: Raw, names: list[str]) -> dict[str, int]:
    counts = np.bincount(source.targets, minlength=len(names)).tolist() if names else []
    return dict(zip(names, counts, strict=True))


def _lines(document: Document) -> Iterator[str]:
    """A piece may end in the middle of one."""
    rest = ""
    for piece in document:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def _longest(documents: Iterable[Document]) -> list[LongLine]:
    every = (
        LongLine(document.name, number, len(line), line[:_CUT])
        for document in documents
        for number, line in enumerate(_lines(document), 1)
    )
    return nlargest(_LONGEST, every, key=lambda line: line.characters)
