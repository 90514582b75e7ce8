"""Text that is not ours (names of files, classes, columns, what a model wrote) as a terminal may show it."""

import re
from collections.abc import Iterable

LONGEST = 2000  # characters of one message

# Control characters, what turns the direction of writing, and halves of characters, which cannot be encoded.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object, most: int = LONGEST, *, lines: bool = False) -> str:
    """Without what would steer the terminal, and not longer than `most`; with `lines`, its lines and tabs stay.

    >>> printable("a\\x1b[31mb\\n"), printable("caf\\udce9"), printable("a" * 9, 5), printable("a\\nb", lines=True)
    ('a\\\\x1b[31mb\\\\n', 'caf\\\\xe9', 'aaaa…', 'a\\nb')
    """
    shown = _UNSAFE.sub(_escaped, str(text)[: most + 1])
    shown = shown if lines else shown.replace("\n", r"\n").replace("\t", r"\t")
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def listed(names: Iterable[object], most: int = 10, longest: int = 60) -> str:
    """Some names, and how many more there are.

    >>> listed(["a", "b"]), listed("abcdef", 3), listed([])
    ('a, b', 'a, b, c and 3 more', 'none')
    """
    shown = [printable(name, longest) for name in names]
    more = f" and {len(shown) - most:,} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more or "none"


def without_passwords(text: str) -> str:
    """Addresses such as those of databases, without the password in them.

    >>> without_passwords("--storage postgresql://me:se:cr@t@host/db?password=x&a=1 --out runs")
    '--storage postgresql://me:***@host/db?password=***&a=1 --out runs'
    """
    return _IN_QUERY.sub(r"\1***", _IN_ADDRESS.sub(r"\1***@", text))


_IN_ADDRESS = re.compile(r"([\w+.-]+://[^\s/:@]*:)\S*@")
_IN_QUERY = re.compile(r"([?&](?:password|passwd|pwd|token|secret)=)[^\s&#'\"]*", re.IGNORECASE)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    # Of a name that is no UTF-8, Python keeps each odd byte as one of these.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else match[0].encode("unicode_escape").decode()
