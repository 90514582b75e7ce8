"""Files and folders that appear whole or not at all.

What is written goes to a temporary name beside its place, `.NAME-TOKEN.new`, is flushed to the disk, and then renamed.
A lock, `.NAME-TOKEN.writing`, is held meanwhile: it ends with its process, however that ends, so that whoever writes to
the same place next knows what was left behind. Process numbers would not tell: a folder may be shared by machines.
"""

import contextlib
import ctypes
import errno
import functools
import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

from gradlab.claims import Claim
from gradlab.errors import GradlabError, one_line, remedy
from gradlab.printable import printable

REMEDY = "{remedy}"
"""In an advice, stands for what the error calls for."""
ANOTHER_PLACE = f"{REMEDY}, or name another place."
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO)
_LOCK = re.compile(r"\.(?P<name>.+)-[0-9a-f]{8}\.writing")


@contextmanager
def write_errors(
    path: Path, advice: str = ANOTHER_PLACE, kind: type[GradlabError] = GradlabError, within: Path | None = None
) -> Iterator[None]:
    """What the system refuses meanwhile, in one form: what cannot be written, why, and what to do.

    With `within`, only what a full or broken disk refuses, or what is of a file in that folder: a block that writes may
    read too.
    """
    try:
        yield
    except OSError as error:
        if within and error.errno not in _DISK and not str(error.filename).startswith(str(within)):
            raise
        folder = path.absolute().parent
        if advice == ANOTHER_PLACE and error.errno == errno.ENOENT and not folder.exists():
            raise kind(no_folder(path)) from None
        what = f"{printable(path)} cannot be written: {error.strerror or one_line(error)}."
        raise kind(f"{what} {advice.replace(REMEDY, remedy(error))}") from None


def no_folder(path: Path) -> str:
    """What is said where the folder of a file is missing, which is as likely a slip as it is meant."""
    folder = printable(path.parent)
    return f"{printable(path)} cannot be written: there is no folder {folder}. Make it, or name another place."


def write_file(
    path: Path, content: str | bytes, advice: str = ANOTHER_PLACE, kind: type[GradlabError] = GradlabError
) -> None:
    """Put the content in place of what the file holds. Text is UTF-8, and line ends stay as they are."""
    # Names of files may hold halves of characters, which no encoding has.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    place = Path(os.path.realpath(path))  # of a link, the file that it leads to
    if place.exists() and not place.is_file():  # a pipe or /dev/stdout, which is no file to be replaced
        with write_errors(path, advice, kind):
            place.write_bytes(data)
        return
    with new_file(place, advice, kind) as new:
        new.write_bytes(data)


@contextmanager
def new_file(path: Path, advice: str = ANOTHER_PLACE, kind: type[GradlabError] = GradlabError) -> Iterator[Path]:
    """The name of a temporary file to write, which becomes `path` by one rename when the block ends well."""
    with write_errors(path, advice, kind), _temporary(path) as new:
        yield new
        if path.exists():
            shutil.copymode(path, new)
        flush(new)
        new.replace(path)
        flush(path.parent)


def json_text(content: Any, indent: int | None = 1, **options: Any) -> str:
    """JSON as the standard has it: null stands for NaN and the infinities, and no text has half a character in it."""
    options |= {"indent": indent, "allow_nan": False}
    try:
        text = json.dumps(content, **options)
    except ValueError:
        return json.dumps(_standard(content), **options)
    return json.dumps(_standard(content), **options) if _HALF.search(text) else text


_HALF = re.compile(r"\\ud[89a-f]|[\ud800-\udfff]")  # of a name of a file that is no UTF-8; whole characters have two


def write_json(
    path: Path, content: Any, advice: str = ANOTHER_PLACE, kind: type[GradlabError] = GradlabError, indent: int = 1
) -> None:
    write_file(path, json_text(content, indent) + "\n", advice, kind)


def _standard(value: Any) -> Any:
    if isinstance(value, dict):
        return {_standard(key): _standard(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_standard(v) for v in value]
    if isinstance(value, str):
        return printable(value, 6 * len(value) + 1, lines=True) if _HALF.search(value) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def write_folder(
    path: Path,
    exists: Literal["refuse", "keep", "replace"] = "refuse",
    advice: str = ANOTHER_PLACE,
    kind: type[GradlabError] = GradlabError,
) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` by one rename when the block ends well, and else is removed.

    A folder that is there already (an empty one does not count) is refused; with `keep` it stays, since whoever made it
    made the same; with `replace` the two are exchanged, so that at every moment one of them is there.
    """
    with ExitStack() as stack:
        with write_errors(path, advice, kind):
            path.parent.mkdir(parents=True, exist_ok=True)
            new = stack.enter_context(_temporary(path))
            new.mkdir()
        with write_errors(path, advice, kind, within=new):
            yield new
        with write_errors(path, advice, kind):
            for file in [*new.rglob("*"), new]:
                flush(file)
            _settle(new, path, exists)
            flush(path.parent)


def _settle(new: Path, path: Path, exists: str) -> None:
    if exists == "replace" and path.exists():
        _replace(new, path)
        return
    try:
        new.rename(path)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) or not path.exists():
            raise
        if exists == "refuse":
            raise GradlabError(f"{path} exists already. Name another folder.") from None


def _replace(new: Path, path: Path) -> None:
    """Exchange two folders by one call of the system; where there is none, the old one stands aside meanwhile.

    A process that dies then leaves the old one under a name from which `clear_leftovers` brings it back.
    """
    if _exchange(new, path):
        return
    aside = new.with_suffix(".old")
    path.rename(aside)
    new.rename(path)
    delete(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Whether the two have changed places. Some file systems cannot do that."""
    call = _renameat2()
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return call is not None and call(here, os.fsencode(one), here, os.fsencode(other), swap) == 0


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    try:
        call: Callable[..., int] = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # neither Linux nor a libc that has it
        return None
    return call


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A name beside a place, ours as long as the block takes; what is there afterwards is removed."""
    clear_leftovers(path.parent)
    new = path.with_name(f".{path.name}-{secrets.token_hex(4)}.new")
    lock = Claim(new.with_suffix(".writing"))
    try:
        lock.take(wait=True)
        yield new
    finally:
        delete(new)
        with contextlib.suppress(OSError):
            lock.path.unlink(missing_ok=True)
        lock.drop()


def clear_leftovers(folder: Path) -> None:
    """Remove what processes that are gone were writing in a folder; what one had put aside comes back."""
    for path in folder.glob(".*.writing"):
        match, lock = _LOCK.fullmatch(path.name), Claim(path)
        try:
            if match and lock.take() and lock.certain:
                new, aside, place = path.with_suffix(".new"), path.with_suffix(".old"), folder / match["name"]
                if aside.exists() and not place.exists():
                    aside.rename(place)
                delete(new)
                delete(aside)
                path.unlink(missing_ok=True)
        except OSError:
            pass  # somebody else's: they will
        finally:
            lock.drop()


def remove(path: Path) -> None:
    """Delete a folder: renamed first, so that a deletion cut short leaves no half of it under its name."""
    with _temporary(path) as doomed:
        path.rename(doomed)


def delete(path: Path) -> None:
    """Remove a file or a folder as far as that is allowed, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Have a file or folder on the disk before it is renamed: a power cut must not leave the name without the bytes."""
    if os.name != "posix" and path.is_dir():
        return  # only there can a folder be opened
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
