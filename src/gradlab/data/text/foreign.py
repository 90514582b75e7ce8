"""What a tokenizer.json may ask of the library, so that one from a stranger takes neither hours nor all memory.

The library does whatever the file says: a regular expression may take exponential time, and a few replacements that
make a text a thousand times as long end the process. What is allowed is what our own kinds, and those of GPT-2, Llama,
Qwen, BERT, T5 and Marian consist of, within bounds that they are far from.
"""

import base64
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradlab.files import Damaged, interpreting
from gradlab.printable import printable

_KNOWN = {
    "normalizer": (
        *("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend"),
        *("Replace", "Sequence", "Strip", "StripAccents"),
    ),
    "pre_tokenizer": (
        *("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation", "Sequence"),
        *("Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"),
    ),
    "decoder": (
        *("BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Sequence", "Strip"),
        "WordPiece",
    ),
    "model": ("BPE", "Unigram", "WordLevel", "WordPiece"),
}
_MOST_PARTS = 32  # of a normalizer, a pre-tokenizer or a decoder
_MOST_GROWTH = 64  # times the length of a text, by all replacements together
_LONGEST_PATTERN, _LONGEST_PIECE, _LONGEST_WORD = 1000, 1024, 1000  # characters
_MOST_REPEATS = 3  # without bound, in one alternative: time is a polynomial of one degree more
_BOUND = 100  # repetitions up to which they count as bounded
_ADVICE = "Take the tokenizer from a source that you trust."

# Of a regular expression: escapes, classes of characters, what repeats the symbol before it, and single characters.
_SYMBOL = re.compile(r"\\.|\[\^?(?:\\.|[^\[\]\\])+\]|(?P<count>[*+?]|\{\d*,?\d*\})[?+]?|.", re.DOTALL)
_REFERENCES = re.compile(r"\\[1-9gk]|\(\?[R(~{&0-9+]|\(\*")
_EXTENDED = re.compile(r"\(\?[a-z-]*x")  # where blanks mean nothing


def check_foreign(content: dict[str, Any], where: Path | str) -> None:
    """Refuse what a tokenizer.json has beyond these bounds."""
    with interpreting(where, "It must be a tokenizer.json."):
        for role, known in _KNOWN.items():
            parts = [*_parts(content.get(role))]
            if len(parts) > _MOST_PARTS:
                raise Damaged(where, f"its {role} has more than {_MOST_PARTS} parts", _ADVICE)
            for part in parts:
                if part["type"] not in known:
                    raise Damaged(where, f"its {role} has an unknown part {printable(str(part['type']), 60)}", _ADVICE)
                if reason := _excess(part):
                    raise Damaged(where, f"its {role} {reason}", _ADVICE)
            growth = math.prod(_growth(part) for part in parts)
            if growth > _MOST_GROWTH:
                raise Damaged(where, f"its {role} makes texts up to {growth:.3g} times as long", _ADVICE)


def _parts(described: Any) -> Iterator[dict[str, Any]]:
    """A part and, of a sequence, all in it."""
    if described is None:
        return
    yield described
    for key in ("normalizers", "pretokenizers", "decoders"):
        for part in described.get(key, ()):
            yield from _parts(part)


def _excess(part: dict[str, Any]) -> str:
    """Why a part may take too long; nothing where it cannot."""
    pattern = part.get("pattern")
    if isinstance(pattern, dict) and "Regex" in pattern and (reason := _slowness(pattern["Regex"])):
        return f"has a pattern, {printable(pattern['Regex'], 60)!r}, {reason}"
    if part["type"] in ("Replace", "Split") and pattern == {"String": ""}:
        return "has an empty pattern"
    if part.get("max_input_chars_per_word", 0) > _LONGEST_WORD:
        return f"has words of more than {_LONGEST_WORD} characters"
    if part["type"] == "Unigram" and any(len(piece) > _LONGEST_PIECE for piece, _ in part["vocab"]):
        return f"has pieces of more than {_LONGEST_PIECE} characters"
    return ""


def _slowness(pattern: str) -> str:
    """Why the search for a pattern may take exponential time, or that of a high power of the length.

    >>> _slowness(r"'(?:[sdmt]|ll)| ?\\p{L}+|\\s+(?!\\S)"), _slowness("(a+)+$"), _slowness(r"(a)\\1")
    ('', 'which repeats a group', 'which refers to itself, or is in the extended syntax')
    """
    if len(pattern) > _LONGEST_PATTERN:
        return f"of more than {_LONGEST_PATTERN} characters"
    if _REFERENCES.search(pattern) or _EXTENDED.search(pattern):
        return "which refers to itself, or is in the extended syntax"
    repeats, before = 0, ""
    for symbol in _SYMBOL.finditer(pattern):
        count = symbol["count"]
        if symbol[0] == "[":
            return "which has a class of characters in another"
        if count and before == ")" and count != "?":
            return "which repeats a group"
        if count and before == "count":
            return "which repeats what is repeated"
        repeats = 0 if symbol[0] == "|" else repeats + bool(count and _is_unbounded(count))
        if repeats > _MOST_REPEATS:
            return f"which repeats more than {_MOST_REPEATS} times in a row without bound"
        before = "count" if count else symbol[0]
    return ""


def _is_unbounded(count: str) -> bool:
    if count in "*+?":
        return count != "?"
    most = count.strip("{}").rpartition(",")[2]
    return most == "" or int(most) > _BOUND


def _growth(part: dict[str, Any]) -> float:
    """How many times as long a part may make a text."""
    if part["type"] == "Precompiled":
        return _longest_replacement(part["precompiled_charsmap"])
    if part["type"] != "Replace":
        return 1.0
    pattern, content = part["pattern"], part["content"]
    if "String" in pattern:
        return max(1.0, len(content.encode()) / len(pattern["String"].encode()))
    return 1.0 + len(content.encode())  # a regular expression may match nothing, before every character


def _longest_replacement(charsmap: str) -> float:
    """Of a map of characters as SentencePiece packs it: a table of some size, and then texts that end with 0."""
    packed = base64.b64decode(charsmap or "")
    if not packed:
        return 1.0
    texts = packed[4 + int.from_bytes(packed[:4], "little") :]
    return float(max(1, *map(len, texts.split(b"\0"))))
