"""Ways in which bytes, texts, numbers and JSON files can be wrong, drawn by a seeded generator."""

import json
import random
from typing import Any

NUMBERS = [
    "0", "-1", "1", "nan", "inf", "-inf", "1e300", "1e-300", "1e39", str(10**30), str(2**31), str(2**63), "9" * 5000,
    "0x10", "1_000", "½", "٣", "1e", ".", "--1", "1,5", "1e400", "-0.0", "3e38", "True", "null",
]  # fmt: skip
TEXTS = [
    "", " ", "\t", "\n", "\x1b[31mred", "nul\x00l", "\x0bvertical", "\x9b2J", "é", "日本", "\u202egnp", "\ud800",
    "a" * 5000, "../..", "/", ".", "~", "-", "--", "=", ".." * 500 + "x", "a.b" * 400, "%s%n", "{}", "[]", "'", '"',
    "$(true)", "*", "\\", "None", "train", "data", "con", "\u2028",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**30, 1e308, "", "text", "\x1b[31m", "\ud800", "é" * 3000, [], {}, [[]], [None],
    {"": 0}, [1, 2], "nan", 2**31, -(2**63),
]  # fmt: skip
_HUGE = '"a number of too many digits"'


def number(rng: random.Random) -> str:
    return rng.choice(NUMBERS)


def text(rng: random.Random) -> str:
    return rng.choice(TEXTS)


def value(rng: random.Random) -> str:
    return rng.choice([number, text])(rng)


def broken_bytes(rng: random.Random, content: bytes) -> bytes:
    """Content of a file, cut, filled, flipped, doubled or replaced."""
    kind, at = rng.randrange(9), rng.randrange(max(1, len(content)))
    some = rng.randbytes(rng.choice([1, 4, 64]))
    if kind == 0:
        return content[:at]
    if kind == 1:
        return b""
    if kind == 2:  # a single bit
        return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :] if content else some
    if kind == 3:
        return content[:at] + some + content[at:]
    if kind == 4:
        return content[:at] + some + content[at + len(some) :]
    if kind == 5:
        return content + content
    if kind == 6:
        return rng.randbytes(200)
    if kind == 7:
        return text(rng).encode(errors="surrogatepass")
    return bytes(len(content))


def broken_json(rng: random.Random, content: str) -> str:
    """A JSON file with one value renamed, dropped, replaced, nested too deep or too large."""
    try:
        document = json.loads(content)
    except ValueError:
        return broken_bytes(rng, content.encode()).decode(errors="replace")
    kind = rng.randrange(8)
    if kind == 0:
        return "[" * 10_000 + "]" * 10_000
    places = list(_places(document))
    if kind == 1 or not places:
        return json.dumps(rng.choice(VALUES))
    holder, key = rng.choice(places)
    if kind == 2 and isinstance(holder, dict):
        holder[text(rng)] = holder.pop(key)
    elif kind == 3:
        del holder[key]
    elif kind == 4:
        holder[key] = "a number of too many digits"
        return json.dumps(document).replace(_HUGE, "9" * 5000)
    elif kind == 5:
        holder[key] = "a number of too many digits"
        return json.dumps(document).replace(_HUGE, rng.choice(["NaN", "Infinity", '{"a":' * 5000 + "1" + "}" * 5000]))
    else:
        holder[key] = rng.choice(VALUES)
    return json.dumps(document)


def _places(document: Any) -> Any:
    """Every (container, key) of a document."""
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, inner in list(items):
        yield document, key
        yield from _places(inner)
