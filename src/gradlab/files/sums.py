"""SHA-256 sums, of one file and over a folder: SHA256SUMS, which `sha256sum -c` reads too."""

import hashlib
from collections.abc import Collection
from pathlib import Path

from gradlab.files.reading import Damaged, read_bytes
from gradlab.files.writing import write_errors

SUMS = "SHA256SUMS"


def sha256(path: Path) -> str:
    """Of a file's content: the same for the same bytes, under whatever name."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path) -> None:
    """Of the files that a folder holds now."""
    with write_errors(folder / SUMS):
        lines = [f"{sha256(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
        (folder / SUMS).write_text("".join(lines))


def check_sums(folder: Path, required: Collection[str], optional: Collection[str] = (), advice: str = "") -> None:
    """Compare every file with its sum; a file that is damaged is named."""
    text = read_bytes(folder / SUMS, advice).decode(errors="replace")
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in text.removesuffix("\n").split("\n"))}
    if not set(required) <= set(sums) <= {*required, *optional}:
        raise Damaged(folder / SUMS, "it does not list the files of its folder", advice)
    for name in optional:
        if name not in sums and (folder / name).exists():
            raise Damaged(folder / SUMS, f"it does not list {name}", advice)
    for name, digest in sums.items():
        file = folder / name
        try:
            same = sha256(file) == digest
        except OSError as error:
            raise Damaged(file, f"it cannot be read ({error.strerror}), though {SUMS} lists it", advice) from None
        if not same:
            raise Damaged(file, f"its SHA-256 is not the one in {SUMS}", advice)
