"""What a family makes of a seed: an input to try, and how it is tried."""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damage import broken_bytes, broken_json

SHORT = ("train.steps=1", "train.doctor=false", "--plain")
CODES = (0, 1, 2, 130)


@dataclass(frozen=True)
class Attempt:
    """What is tried: arguments of the command line, or a function of the library. `words` say what is wrong with it."""

    words: str
    arguments: tuple[str, ...] = ()
    call: Callable[[], Any] | None = None
    test: dict[str, float] | None = None
    """What the run must have come to where it succeeds: a damaged cache must not change a result."""
    codes: tuple[int, ...] = CODES
    runs_script: bool = False
    """A script of the user's runs: its traceback and its exit code are its own."""


Family = Callable[[random.Random, Path, Path], Attempt]
"""(random numbers, folder with sound things, empty folder to work in) → attempt"""


def argv(words: list[str]) -> tuple[str, ...]:
    """As a process can be given them: no NUL, and surrogates only as bytes that are no UTF-8 would be."""
    return tuple(word.replace("\x00", "").replace("\ud800", "\udcff") for word in words)


def copy_damaged(rng: random.Random, sound: Path, copy: Path, pattern: str = "*") -> Path:
    """Copy a folder, break one file of the copy, and return which."""
    shutil.copytree(sound, copy)
    files = [path for path in sorted(copy.rglob(pattern)) if path.is_file() and path.suffix not in (".html", ".lock")]
    file = rng.choice([path for path in files if path.stat().st_size] or files)
    break_file(rng, file, sound / file.relative_to(copy))
    return file


def break_file(rng: random.Random, file: Path, sound: Path) -> None:
    """Remove a file, damage its content, or put a link in its place: to nothing, or to the sound file elsewhere."""
    kind = rng.random()
    if kind < 0.15:
        file.unlink()
        if target := rng.choice([None, Path("nowhere"), sound]):
            file.symlink_to(target)
    elif file.suffix == ".json" and kind < 0.8:
        file.write_text(broken_json(rng, file.read_text()), errors="surrogatepass")
    else:
        file.write_bytes(broken_bytes(rng, file.read_bytes()))
