"""Which process works on what, known by locks that go with their process, however it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gradlab.errors import GradlabError, remedy
from gradlab.printable import printable


class Claim:
    """A file that at most one process holds at a time."""

    def __init__(self, path: Path):
        self.path = path
        self.file: IO[str] | None = None

    def take(self, wait: bool = False) -> bool:
        """Whether nobody else has it; with `wait`, once whoever holds it lets go."""
        file = self.path.open("a")
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            file.close()
            return False
        except (ImportError, OSError):  # neither Windows nor every file system has such locks
            file.close()
            return True
        self.file = file
        return True

    @property
    def certain(self) -> bool:
        """Whether it is held: then whoever had it before has ended."""
        return self.file is not None

    def drop(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None


def _take(claim: Claim, wait: bool = False) -> bool:
    try:
        return claim.take(wait)
    except OSError as error:
        folder = printable(claim.path.parent)
        raise GradlabError(f"{folder} cannot be written: {error.strerror}. {remedy(error)}, and try again.") from None


def held(path: Path) -> bool:
    """Whether some process holds a claim, which is not touched by asking."""
    try:
        with path.open() as file:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):  # no such file, or no such locks
        return False
    return False


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process at a time; the others wait."""
    claim = Claim(path)
    _take(claim, wait=True)
    try:
        yield
    finally:
        claim.drop()


@contextmanager
def claimed(path: Path, refusal: str) -> Iterator[None]:
    """One process at a time; others are refused with these words."""
    claim = Claim(path)
    if not _take(claim):
        raise GradlabError(refusal)
    try:
        yield
    finally:
        claim.drop()
