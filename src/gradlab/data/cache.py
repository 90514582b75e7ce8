"""Where gradlab keeps what it has fetched and converted, and how a folder gets in there whole or not at all."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gradlab.errors import GradlabError

_BLOCK = 2**20  # bytes read at once: a file of any size is summed in this much memory


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
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise GradlabError(f"{path} cannot be read: {error.strerror}.") from None
    return digest.hexdigest()


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
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `folder` by one rename when the block ends well, and else is removed.

    If another process makes `folder` meanwhile, that one stays, and this one's work is dropped: both were made from
    the same content.
    """
    # The name of the machine goes with the process: a home folder may be shared by many, each with a process 4711.
    temporary = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}-{os.getpid()}@{socket.gethostname()}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder.parent)
        temporary.mkdir()
    except OSError as error:
        raise _unwritable(folder.parent, error) from None
    try:
        yield temporary
        for path in [*temporary.rglob("*"), temporary]:
            flush(path)
        _settle(temporary, folder)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise _unwritable(folder.parent, error) from None
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _settle(temporary: Path, folder: Path) -> None:
    try:
        temporary.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # else another process was first
            raise _unwritable(folder, error) from None
    else:
        flush(folder.parent)


def _sweep(parent: Path) -> None:
    """Remove what processes of this machine were building when they died."""
    ours = re.compile(rf"\..+-[0-9a-f]{{8}}-(\d+)@{re.escape(socket.gethostname())}")
    for path in parent.iterdir():
        match = ours.fullmatch(path.name)
        if match and not _is_alive(int(match[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere asking with signal 0 would end it
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def flush(path: Path) -> None:
    """Have a file or folder on the disk before it is renamed: a power cut must not leave the name without the bytes."""
    if os.name != "posix" and path.is_dir():
        return  # only there can a folder be opened
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(folder: Path, error: OSError) -> GradlabError:
    return GradlabError(
        f"The cache folder {folder} cannot be written: {error.strerror}. "
        "Set GRADLAB_CACHE to a folder with room that you may write to."
    )
