"""Where gradlab keeps what it has fetched and converted, and how it knows that this is still what it wrote."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from gradlab.errors import GradlabError, notice
from gradlab.files import Damaged, check_sums, sha256, write_folder, write_sums

_expected: ContextVar[str | None] = ContextVar("expected", default=None)
_ADVICE = "Set GRADLAB_CACHE to a folder with room that you may write to."


def cache_folder(*parts: str) -> Path:
    """`$GRADLAB_CACHE`, else `$XDG_CACHE_HOME/gradlab`, else `~/.cache/gradlab`, and below it; it need not exist."""
    own, shared = os.environ.get("GRADLAB_CACHE"), os.environ.get("XDG_CACHE_HOME", "")
    try:
        if own:
            root = Path(own).expanduser().absolute()
        elif os.path.isabs(shared):  # the XDG specification has relative ones ignored
            root = Path(shared) / "gradlab"
        else:
            root = Path.home() / ".cache" / "gradlab"
    except RuntimeError:  # of a user without a home, as in some containers
        raise GradlabError("There is no home folder to keep a cache in. Set GRADLAB_CACHE to a folder.") from None
    return root.joinpath(*parts)


def data_folder(name: str, path: str | None) -> Path:
    """Where to read a public data set from: what the user names, else its folder in the cache."""
    if path is not None:
        return Path(path)
    folder = cache_folder("datasets", name)
    if not folder.is_dir() or not any(folder.iterdir()):
        raise GradlabError(f"{name} is not in the cache, {folder}. {how_to_get(name)}")
    return folder


def how_to_get(name: str) -> str:
    """What to do about a public data set that is not where it was looked for."""
    return f"Get it with `gradlab data fetch {name}`, or name the folder that has it: --data FOLDER (data.path)."


def file_key(path: Path) -> str:
    """SHA-256 of a file's content: the same for the same bytes, under whatever name."""
    try:
        return sha256(path)
    except OSError as error:
        raise GradlabError(f"{path} cannot be read: {error.strerror}.") from None


@contextmanager
def changed_guard(path: Path) -> Iterator[Callable[[], None]]:
    """Refuse what was read in the block if the file is another one after it, by size, time or inode.

    What it gives checks at once, for a block that is about to keep what it read.
    """
    before = _state(path)
    if before is None:
        raise GradlabError(f"{path} cannot be read: there is no such file.")

    def check() -> None:
        if _state(path) != before:
            raise GradlabError(f"{path} changed while it was read. Try again when nothing writes to it any more.")

    try:
        yield check
    except Exception:
        check()  # a file cut while it is read fails in some odd way, of which this is the reason
        raise
    check()


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


@contextmanager
def expecting(fingerprint: str) -> Iterator[None]:
    """Within the block, nothing is converted but the data of this fingerprint: to compare others costs no disk."""
    token = _expected.set(fingerprint)
    try:
        yield
    finally:
        _expected.reset(token)


def converted(
    folder: Path, convert: Callable[[Path], None], files: Collection[str], optional: Collection[str] = ()
) -> Path:
    """A folder of the cache with these files, made by `convert` where it is not there, and again where it is damaged.

    Every file is compared with its sum before it is used, each time: examples that changed on the disk would be trained
    on, and nothing else would show it. If another process makes the folder meanwhile, that one stays: both are of the
    same content. Whoever has the old one mapped into memory keeps it.
    """
    expected = _expected.get()
    if expected is not None and folder.name not in expected.split("-"):
        raise GradlabError("These are other data than the ones expected.")
    damaged = False
    if folder.exists():
        try:
            check_sums(folder, files, optional)
            return folder
        except Damaged as error:
            notice(f"{error} It is converted again.")
            damaged = True
    with write_folder(folder, "replace" if damaged else "keep", _ADVICE) as temporary:
        convert(temporary)
        write_sums(temporary)
    return folder
