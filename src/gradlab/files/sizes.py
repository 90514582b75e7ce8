"""How large a file may be: refused by its header and its size alone, before minutes are spent on its content."""

from pathlib import Path
from typing import Any

from gradlab.errors import notice
from gradlab.files.reading import MOST_BYTES, Damaged, interpreting, parse_json
from gradlab.process import memory

_MOST_HEADER = 2**25  # bytes: those of more than a hundred thousand tensors
_SLOW = 2**33  # bytes whose hashing takes so long that a word is due


def check_size(file: Path, advice: str = "") -> None:
    """Refuse a file that is larger than what it holds, or than what this machine can hold."""
    size = file.stat().st_size
    most = _declared_size(file, size, advice) if file.suffix == ".safetensors" else MOST_BYTES
    if size > most:
        raise Damaged(file, f"its {size:,} bytes are more than the {most:,} that such a file can have", advice)
    if size > memory():
        raise Damaged(file, f"its {size / 1e9:,.1f} GB do not fit into the memory of this machine", advice)
    if size > _SLOW:
        notice(f"Reading {file} ({size / 1e9:,.1f} GB), which may take a while.")


def _declared_size(file: Path, size: int, advice: str) -> int:
    """The bytes of a file of safetensors, as its header says."""
    with file.open("rb") as content:
        length = int.from_bytes(content.read(8), "little")
        if length > min(_MOST_HEADER, size):
            raise Damaged(file, f"a header of {length:,} bytes is too long", advice)
        header = content.read(length).decode(errors="replace")
    tensors = parse_json(header, dict[str, dict[str, Any]], file, advice)
    with interpreting(file, advice):
        ends = [tensor["data_offsets"][1] for name, tensor in tensors.items() if name != "__metadata__"]
        return 8 + length + max(ends, default=0)
