"""A corpus as one array of token numbers, made once and kept in the cache."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.array_file import ArrayFile
from gradlab.data.cache import cache_folder, changed_guard, converted
from gradlab.data.progress import Notify, converting
from gradlab.data.text.corpus import Corpus
from gradlab.data.text.kinds import UNKNOWN
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.errors import GradlabError
from gradlab.files import json_text, read_json

_FORMAT = 1  # of what is in the cache: a change here makes texts be converted anew
_LARGE = 2**24  # bytes above which progress is shown
_TOGETHER = 2**18  # characters that are encoded at once, so that all cores have some


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What is in a token stream; `bytes` are those of the text as UTF-8, `used` how many tokens occur at all."""

    documents: int
    characters: int
    bytes: int
    tokens: int
    used: int
    unknown: int


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Token numbers of documents one after the other, in a mapped file; document i begins at `starts[i]`."""

    ids: npt.NDArray[Any]
    starts: npt.NDArray[np.int64]
    statistics: Statistics
    key: str

    def __len__(self) -> int:
        return len(self.ids)


def tokenised(corpus: Corpus, tokenizer: Tokenizer, *, eos: bool = False) -> Tokens:
    """The tokens of a corpus, from the cache or else into it; with `eos`, that token ends each document.

    The numbers are as small as the vocabulary allows: one byte each, or two, or four. The text is read, encoded and
    written a piece at a time, so that neither it nor its tokens need fit into memory.
    """
    if eos:
        _ = tokenizer["<eos>"]  # refused before anything is read
    with ExitStack() as guards:
        files = {document.source for document in corpus if isinstance(document.source, Path)}
        checks = [guards.enter_context(changed_guard(file)) for file in sorted(files)]
        content = [_FORMAT, corpus.key(), tokenizer.key(), eos]
        key = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        folder = cache_folder("text", key)

        def encode(temporary: Path) -> None:
            what = f"Encoding {corpus.name} ({corpus.size / 1e6:,.0f} MB), once: it will be in {folder}."
            with converting(what, corpus.size, corpus.size > _LARGE) as notify:
                _Encoding(corpus, tokenizer, eos, notify).write(temporary)
            for check in checks:
                check()

        converted(folder, encode, ["tokens.npy", "starts.npy", "text.json"])
    return Tokens(
        ids=np.load(folder / "tokens.npy", mmap_mode="r", allow_pickle=False),
        starts=np.load(folder / "starts.npy", allow_pickle=False),
        statistics=read_json(folder / "text.json", Statistics),
        key=key,
    )


class _Encoding:
    """One pass over a corpus."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, eos: bool, notify: Notify):
        self.corpus, self.tokenizer, self.notify = corpus, tokenizer, notify
        self.last = np.array([tokenizer["<eos>"]] if eos else [], dtype=np.int64)
        self.starts = [0]
        self.counts = np.zeros(len(tokenizer), dtype=np.int64)
        self.characters = self.bytes = self.tokens = 0

    def write(self, folder: Path) -> None:
        """The tokens, the starts of the documents, and the statistics."""
        with ArrayFile(folder / "tokens.npy", np.min_scalar_type(len(self.tokenizer) - 1)) as file:
            for texts in _together(self.corpus):
                for text, encoded in zip(texts, self.tokenizer.encode_many(texts), strict=True):
                    self._add(encoded if text else self.last, file)
                    if not text:
                        self.starts.append(file.rows)
                self.characters += sum(map(len, texts))
                self.bytes += sum(len(text.encode()) for text in texts)
                self.notify(self.bytes)
            self.tokens = file.rows
        if not self.characters:
            raise GradlabError(f"{self.corpus.name} is empty. There must be text in it.")
        np.save(folder / "starts.npy", np.array(self.starts[:-1], dtype=np.int64))
        (folder / "text.json").write_text(json_text(asdict(self._statistics())))

    def _add(self, ids: npt.NDArray[np.int64], file: ArrayFile) -> None:
        self.counts += np.bincount(ids, minlength=len(self.counts))
        file.write(ids)

    def _statistics(self) -> Statistics:
        unknown = self.tokenizer.special.get(UNKNOWN)
        return Statistics(
            documents=len(self.corpus),
            characters=self.characters,
            bytes=self.bytes,
            tokens=self.tokens,
            used=int(np.count_nonzero(self.counts)),
            unknown=0 if unknown is None else int(self.counts[unknown]),
        )


def _together(corpus: Corpus) -> Iterator[list[str]]:
    """Pieces, as many at a time as are encoded at once; an empty one ends each document."""
    held: list[str] = []
    size = 0
    for piece in (piece for document in corpus for piece in chain(document, [""])):
        held.append(piece)
        size += len(piece)
        if size >= _TOGETHER:
            yield held
            held, size = [], 0
    yield held
