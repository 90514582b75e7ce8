"""Tokenizers of each kind, as the library `tokenizers` builds, saves and runs them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from gradlab.errors import GradlabError, unknown

if TYPE_CHECKING:
    import tokenizers

Kind = Literal["byte", "char", "word", "bpe"]
SPECIAL = ("<pad>", "<unk>", "<bos>", "<eos>", "<mask>")  # in this order: padding is 0, where there is any
UNKNOWN = "<unk>"

_SIZES = {"word": 10_000, "bpe": 1024}  # of the vocabulary where none is asked for
Vocabulary = Annotated[
    Annotated[int, Ge(1), Le(10**7)] | None,
    f"the most tokens there may be; default all characters, {_SIZES['word']} words, {_SIZES['bpe']} pieces",
]
_BYTES = 256
# A word is letters and digits; every other mark is a token of its own, a newline too; blanks are not kept. Back in
# text they stand before all but these marks, and not after those, nor at the beginning of a line.
_WORDS = r"\w+|\n|[^\w\s]"
_BLANK_BEFORE, _NO_BLANK = r"\A(?![\n.,;:!?)\]}])", r"(?<=[\n(\[{]) |\A "


def build(
    kind: str, texts: Iterable[str], vocabulary: int | None, special: Sequence[str], sample: int
) -> "tokenizers.Tokenizer":
    """A tokenizer of this kind for these texts; special tokens have the first numbers."""
    if kind not in get_args(Kind):
        raise unknown("kind of tokenizer", kind, get_args(Kind))
    for name in special:
        if name not in SPECIAL:
            raise unknown("special token", name, SPECIAL)
    names = [name for name in SPECIAL if name in special or (name == UNKNOWN and kind in ("char", "word"))]
    _check_size(kind, vocabulary, len(names))
    texts = _not_empty(texts)
    if kind == "byte":
        built = _bytes(names, texts)
    elif kind == "char":
        built = _characters(names, texts, vocabulary)
    else:
        size = vocabulary or _SIZES[kind]
        built = (_words if kind == "word" else _pairs)(names, _first(texts, sample), size)
    built.add_special_tokens(names)
    return built


def byte_characters() -> list[str]:
    """The printable character that stands for each byte in a vocabulary: itself where it is one (Radford et al. 2019).

    >>> byte_characters()[ord("a")], byte_characters()[ord(" ")]
    ('a', 'Ġ')
    """
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = count(256)
    return [chr(byte if byte in printable else next(others)) for byte in range(_BYTES)]


def codes(text: str) -> npt.NDArray[np.uint32]:
    """The code point of each character."""
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def kind_of(described: dict[str, Any]) -> Kind | Literal["other"]:
    """Which kind a tokenizer.json is of; one from elsewhere may be of none of them."""
    model, decoder, before = (described[key] or {} for key in ("model", "decoder", "pre_tokenizer"))
    merges = bool(model.get("merges"))
    if described["normalizer"] is not None:
        return "other"
    if model["type"] == "WordLevel" and before.get("pattern") == {"Regex": _WORDS}:
        return "word"
    if model["type"] == "BPE" and decoder.get("type") == "ByteLevel" and not before.get("add_prefix_space", True):
        return "bpe" if merges else "byte"
    if model["type"] == "BPE" and decoder.get("type") == "Fuse" and not before and not merges:
        return "char"
    return "other"


def _bytes(names: list[str], texts: Iterable[str]) -> "tokenizers.Tokenizer":
    import tokenizers

    next(iter(texts))  # nothing is learned of them, but there must be one
    vocabulary = {token: i for i, token in enumerate([*names, *byte_characters()])}
    built = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    built.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    built.decoder = tokenizers.decoders.ByteLevel()
    return built


def _characters(names: list[str], texts: Iterable[str], size: int | None) -> "tokenizers.Tokenizer":
    """Pair encoding without pairs: its tokens are the characters."""
    import tokenizers

    counts = np.zeros(0, dtype=np.int64)
    for text in texts:
        here = np.bincount(codes(text))
        counts = np.pad(counts, (0, max(0, len(here) - len(counts))))
        counts[: len(here)] += here
    by_frequency = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    kept = by_frequency if size is None else by_frequency[: size - len(names)]
    vocabulary = {token: i for i, token in enumerate([*names, *map(chr, sorted(kept.tolist()))])}
    built = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[], unk_token=UNKNOWN))
    built.decoder = tokenizers.decoders.Fuse()
    return built


def _words(names: list[str], texts: Iterable[str], size: int) -> "tokenizers.Tokenizer":
    import tokenizers
    from tokenizers import decoders

    built = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab={}, unk_token=UNKNOWN))
    built.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(_WORDS), "removed", invert=True)
    before, after = (decoders.Replace(tokenizers.Regex(p), by) for p, by in ((_BLANK_BEFORE, " "), (_NO_BLANK, "")))
    built.decoder = decoders.Sequence([before, decoders.Fuse(), after])
    trainer = tokenizers.trainers.WordLevelTrainer(vocab_size=size, special_tokens=names, show_progress=False)
    built.train_from_iterator(texts, trainer)
    return built


def _pairs(names: list[str], texts: Iterable[str], size: int) -> "tokenizers.Tokenizer":
    """Byte pair encoding (Sennrich et al. 2016) of bytes: no text is unknown to it."""
    import tokenizers

    built = tokenizers.Tokenizer(tokenizers.models.BPE())
    built.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, special_tokens=names, initial_alphabet=alphabet, show_progress=False
    )
    built.train_from_iterator(texts, trainer)
    return built


def _check_size(kind: str, vocabulary: int | None, names: int) -> None:
    least = _BYTES + 1 + names if kind == "bpe" else names + 1
    if vocabulary is None:
        return
    if kind == "byte":
        raise GradlabError(
            f"A byte tokenizer has {_BYTES} tokens and the special ones; no vocabulary can be asked for."
        )
    if vocabulary < least:
        holds = "all bytes, a pair" if kind == "bpe" else f"one {kind}"
        raise GradlabError(
            f"A vocabulary of {vocabulary} is too small for {kind}: {holds} and {names} special tokens take {least}."
        )


def _not_empty(texts: Iterable[str]) -> Iterator[str]:
    empty = True
    for text in texts:
        if text:
            empty = False
            yield text
    if empty:
        raise GradlabError("There is no text to make a tokenizer for. Give some that is not empty.")


def _first(texts: Iterable[str], most: int) -> Iterator[str]:
    """Texts up to so many characters."""
    for text in texts:
        yield text
        most -= len(text)
        if most <= 0:
            return
