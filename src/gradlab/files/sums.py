"""SHA-256 sums, of one file and over a folder: SHA256SUMS, which `sha256sum -c` reads too."""

import hashlib
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from gradlab.files.reading import Damaged, read_bytes
from gradlab.files.sizes import check_size
from gradlab.files.writing import write_errors

SUMS = "SHA256SUMS"
_ESCAPES = {"\\": r"\\", "\n": r"\n", "\r": r"\r"}  # as `sha256sum` writes them in a name, with a \ before the line
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}


def sha256(path: Path) -> str:
    """Of a file's content: the same for the same bytes, under whatever name."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_text(sums: Iterable[tuple[str, str]]) -> bytes:
    r"""Names and digests as lines.

    >>> sums_text([("a.json", "0f"), ("b\n", "1e")])
    b'0f  a.json\n\\1e  b\\n\n'
    """
    return b"".join(os.fsencode(_line(name, digest)) for name, digest in sums)


def _line(name: str, digest: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in name)
    mark = "" if escaped == name else "\\"
    return f"{mark}{digest}  {escaped}\n"


def parse_sums(text: bytes) -> list[tuple[str, str]]:
    r"""The inverse.

    >>> parse_sums(b'0f  a.json\n\\1e  b\\n\n')
    [('a.json', '0f'), ('b\n', '1e')]
    """
    lines = [line.partition("  ") for line in os.fsdecode(text).split("\n") if line]
    return [(_unescape(name), digest[1:]) if digest.startswith("\\") else (name, digest) for digest, _, name in lines]


def _unescape(name: str) -> str:
    return re.sub(r"\\.", lambda escape: _CHARACTERS.get(escape[0], escape[0]), name)


def write_sums(folder: Path) -> None:
    """Of the files that a folder holds now."""
    with write_errors(folder / SUMS):
        (folder / SUMS).write_bytes(sums_text((path.name, sha256(path)) for path in sorted(folder.iterdir())))


def check_sums(folder: Path, required: Collection[str], optional: Collection[str] = (), advice: str = "") -> None:
    """Compare every file with its sum; a file that is damaged is named."""
    sums = dict(parse_sums(read_bytes(folder / SUMS, advice)))
    if not set(required) <= set(sums) <= {*required, *optional}:
        raise Damaged(folder / SUMS, "it does not list the files of its folder", advice)
    for name in optional:
        if name not in sums and (folder / name).exists():
            raise Damaged(folder / SUMS, f"it does not list {name}", advice)
    for name, digest in sums.items():
        if checked_digest(folder / name, advice) != digest:
            raise Damaged(folder / name, f"its SHA-256 is not the one in {SUMS}", advice)


def checked_digest(file: Path, advice: str = "") -> str:
    """The digest of a file that SHA256SUMS lists; refused at once if it is larger than such a file can be."""
    try:
        check_size(file, advice)
        return sha256(file)
    except OSError as error:
        raise Damaged(file, f"it cannot be read ({error.strerror}), though {SUMS} lists it", advice) from None
