"""Which process works on what, told by locks that go with their process, however it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gradlab.errors import GradlabError


class Claim:
    """A file that at most one process holds at a time."""

    def __init__(self, path: Path):
        self.path = path
        self.file: IO[str] | None = None

    def take(self, wait: bool = False) -> bool:
        """Whether it is ours now; with `wait`, once whoever holds it lets go."""
        try:
            import fcntl
        except ImportError:  # Windows has no such lock
            return True
        file = self.path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            file.close()
            return False
        self.file = file
        return True

    def drop(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process at a time; the others wait."""
    claim = Claim(path)
    claim.take(wait=True)
    try:
        yield
    finally:
        claim.drop()


@contextmanager
def claimed(path: Path, refusal: str) -> Iterator[None]:
    """One process at a time; others are refused with these words."""
    claim = Claim(path)
    if not claim.take():
        raise GradlabError(refusal)
    try:
        yield
    finally:
        claim.drop()


def can_tell_the_dead() -> bool:
    """Whether a free lock means that its process has ended."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True
