"""Text to token numbers and back."""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gradlab.data.text.documents import cut
from gradlab.data.text.foreign import check_foreign
from gradlab.data.text.kinds import SPECIAL, UNKNOWN, build, byte_characters, codes, kind_of
from gradlab.errors import GradlabError, is_panic, one_line
from gradlab.files import Damaged, parse_json, read_bytes, write_file

if TYPE_CHECKING:
    import tokenizers

Ids = npt.NDArray[np.int64]
Unknown = Literal["mark", "refuse"]

_PART = 2**13  # characters that the library is given at once: it runs over parts in parallel, and slower over long ones
_ADVICE = "It must be a tokenizer.json."
_LARGEST = 2**24  # number in a tokenizer.json: the library takes memory for so many tokens before it looks at them
_NAMED = 10  # unknown characters or words that are named


class Tokenizer:
    """A vocabulary, and how text is cut into its tokens.

    `kind` is `byte`, `char`, `word` or `bpe` (byte pair encoding of bytes), or `other` for a tokenizer.json of another
    make. All but words and others are lossless: `decode` gives back every text of known characters. Words come back
    with blanks as English has them.

    The names of special tokens in a text are text. The library takes them for the tokens unless it is told
    `encode_special_tokens = True`; in all else `tokenizers.Tokenizer.from_file` gives what this class does.

    >>> tokenizer = Tokenizer.train("char", ["abracadabra"], special=["<eos>"])
    >>> tokenizer.encode("cab?").tolist(), tokenizer.decode([4, 2, 3]), tokenizer["<eos>"], len(tokenizer)
    ([4, 2, 3, 0], 'cab', 1, 7)
    """

    def __init__(self, inner: "tokenizers.Tokenizer"):
        self.inner = inner
        self.inner.encode_special_tokens = True
        self.inner.no_truncation()  # a text is never cut short in silence, nor filled up
        self.inner.no_padding()
        self.kind = kind_of(json.loads(inner.to_str()))
        self.lossless = self.kind in ("byte", "char", "bpe")

    @classmethod
    def train(
        cls,
        kind: str,
        texts: Iterable[str],
        *,
        vocabulary: int | None = None,
        special: Sequence[str] = (),
        sample: int = 2**28,
    ) -> "Tokenizer":
        """A tokenizer for these texts.

        `vocabulary` is how many tokens there are in all, the most frequent ones: by default every character, 10,000
        words, 1024 pieces of byte pairs; it says nothing of bytes. `<unk>` is always there for characters and words,
        further `special` tokens are where they are asked for. Words and byte pairs are learned of the first `sample`
        characters, since the memory that takes grows with them.
        """
        return cls(build(kind, texts, vocabulary, special, sample))

    @classmethod
    def from_json(cls, text: str, where: str = "The tokenizer") -> "Tokenizer":
        import tokenizers

        content = parse_json(text, dict[str, Any], where, _ADVICE)
        if (number := _largest(content)) > _LARGEST:
            raise Damaged(where, f"it has the number {number:,}", _ADVICE)
        check_foreign(content, where)
        try:
            tokenizer = cls(tokenizers.Tokenizer.from_str(text))
            with contextlib.suppress(GradlabError):  # of a letter that it does not know
                tokenizer.decode(tokenizer.encode("a").tolist())  # some that can be read fail at the first text
            return tokenizer
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library has no class of its own for what it cannot read, or panics
            raise Damaged(where, one_line(error), _ADVICE) from None

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        return cls.from_json(read_bytes(Path(path), _ADVICE).decode(errors="replace"), str(path))

    def to_json(self) -> str:
        return self.inner.to_str(pretty=True)

    def save(self, path: str | Path) -> None:
        """As a tokenizer.json, which other libraries read too."""
        write_file(Path(path), self.to_json())

    def key(self) -> str:
        """SHA-256 of the tokenizer.json: the same for tokenizers that give the same tokens."""
        return hashlib.sha256(self.inner.to_str().encode()).hexdigest()

    def __len__(self) -> int:
        """One more than the largest number of a token, which is how many embeddings a model needs."""
        return 1 + max(self._numbers.values(), default=-1)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each token. A foreign vocabulary may leave numbers out."""
        return self.inner.get_vocab()

    @cached_property
    def special(self) -> dict[str, int]:
        """The special tokens and their numbers."""
        return {token.content: i for i, token in sorted(self.inner.get_added_tokens_decoder().items()) if token.special}

    def __getitem__(self, name: str) -> int:
        """The number of a special token."""
        if name not in self.special:
            has = f"has {', '.join(self.special)}" if self.special else "has none"
            hint = f" Ask for it: special=[{name!r}]." if name in SPECIAL else ""
            raise GradlabError(f"The tokenizer {has} of the special tokens, but not {name!r}.{hint}")
        return self.special[name]

    # Encoding

    def encode(self, text: str, unknown: Unknown = "mark") -> Ids:
        """Token numbers; what is not in the vocabulary becomes `<unk>`, or is named and refused."""
        return self.encode_many([text], unknown)[0]

    def encode_many(self, texts: Sequence[str], unknown: Unknown = "mark") -> list[Ids]:
        """Token numbers of each text."""
        for text in texts:
            _check(text)
        encoded = self._run(texts) if self._table is None else self._look_up(texts, self._table)
        if unknown == "refuse" and UNKNOWN in self.special:
            for text, ids in zip(texts, encoded, strict=True):
                if (ids == self.special[UNKNOWN]).any():
                    raise self._unknown(text)
        return encoded

    def _run(self, texts: Sequence[str]) -> list[Ids]:
        parts = [[text] if self.kind == "other" else [*cut(text, _PART)] for text in texts]
        flat = [part for each in parts for part in each]
        with _reporting_panics():
            encodings = self.inner.encode_batch_fast(flat, add_special_tokens=False)
        ids = iter([np.array(encoding.ids, dtype=np.int64) for encoding in encodings])
        nothing = np.zeros(0, dtype=np.int64)
        return [np.concatenate([nothing, *islice(ids, len(each))]) for each in parts]

    def _look_up(self, texts: Sequence[str], table: Ids) -> list[Ids]:
        units = [codes(t) if self.kind == "char" else np.frombuffer(t.encode(), dtype=np.uint8) for t in texts]
        return [table[np.minimum(each, len(table) - 1)] for each in units]

    @cached_property
    def _table(self) -> Ids | None:
        """For bytes and characters, the token of each: looking them up is a hundred times as fast as the library."""
        if self.kind not in ("byte", "char"):
            return None
        numbers = self.inner.get_vocab()
        if self.kind == "byte":
            return np.array([numbers[c] for c in byte_characters()])
        known = {ord(token): i for token, i in numbers.items() if token not in self.special}
        table = np.full(max(known) + 2, self.special[UNKNOWN])
        table[[*known]] = [*known.values()]
        return table

    def _unknown(self, text: str) -> GradlabError:
        with _reporting_panics():
            encoded = self.inner.encode(text, add_special_tokens=False)
        places = [p for i, p in zip(encoded.ids, encoded.offsets, strict=True) if i == self.special[UNKNOWN]]
        names = list(dict.fromkeys(text[start:stop] for start, stop in places))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        what = "words" if self.kind == "word" else "characters"
        return GradlabError(
            f"The vocabulary does not have the {what} {', '.join(map(repr, names[:_NAMED]))}{more}. Leave them out."
        )

    # Decoding

    def decode(self, ids: Iterable[int] | Any, special: bool = False) -> str:
        """The text that tokens stand for, with the names of special tokens or without; bytes that form no character
        become U+FFFD."""
        numbers = np.asarray(ids)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise GradlabError(
                f"Token numbers must be from 0 to {len(self) - 1}, got {numbers.min()} to {numbers.max()}."
            )
        with _reporting_panics():
            return self.inner.decode(numbers.tolist(), skip_special_tokens=not special)

    @cached_property
    def tokens(self) -> list[bytes]:
        """What each number stands for; nothing for special tokens and numbers of none, and for words the word alone."""
        byte_of = {character: byte for byte, character in enumerate(byte_characters())}

        def content(token: str) -> bytes:
            if token in self.special:
                return b""
            return bytes(byte_of[c] for c in token) if self.kind in ("byte", "bpe") else token.encode()

        contents = [b""] * len(self)
        for token, number in self._numbers.items():
            contents[number] = content(token)
        return contents

    @cached_property
    def byte_counts(self) -> Ids:
        """The bytes of text that each token stands for, for bits per byte; none for special tokens."""
        if not self.lossless:
            raise GradlabError(
                "Words do not keep the blanks between them, so that bits per byte are not known. "
                "Use perplexity, or a tokenizer of bytes, characters or byte pairs."
            )
        return np.array([len(token) for token in self.tokens])

    def bytes_of(self, ids: npt.NDArray[Any]) -> int:
        """UTF-8 bytes of the text that these tokens stand for, exactly."""
        if UNKNOWN in self.special and (ids == self.special[UNKNOWN]).any():
            raise GradlabError("The bytes of unknown characters are not known. Use a larger vocabulary, or bytes.")
        return int(self.byte_counts[ids].sum())


@contextmanager
def _reporting_panics() -> Iterator[None]:
    """What the library does not expect of its tokenizer.json or a text becomes one message."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise GradlabError(f"The tokenizer fails on this text: {one_line(error)}. Take another one.") from None


def _check(text: str) -> None:
    if text.isascii():  # which Python knows of every text without looking
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise GradlabError(
            f"The text is not Unicode: it holds half a character at place {error.start} (from 0). Was it read as UTF-8?"
        ) from None


def _largest(content: Any) -> int:
    """The largest whole number anywhere in it."""
    if isinstance(content, dict | list):
        return max(map(_largest, content.values() if isinstance(content, dict) else content), default=0)
    return content if isinstance(content, int) else 0
