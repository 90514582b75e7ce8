"""Fetching public data sets: a table of what is where, and downloads that go on after a cut and are checked."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gradlab.claims import claimed
from gradlab.data.cache import cache_folder, file_key
from gradlab.errors import GradlabError, one_line, unknown
from gradlab.files import flush
from gradlab.version import __version__

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, how many bytes of it are there, and how many it has."""

TIMEOUT = 30.0  # seconds without a byte after which a connection counts as dead
_BLOCK = 2**16  # bytes taken from a connection at once, if it has so many


@dataclass(frozen=True)
class Download:
    """A file: its name, its length in bytes, the SHA-256 of its content, and where it can be had, in order."""

    name: str
    size: int
    sha256: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Fetched:
    """A file that is there now; `fresh` if it was not before."""

    path: Path
    size: int
    fresh: bool


def _files(folders: tuple[str, ...], *files: tuple[str, int, str]) -> tuple[Download, ...]:
    return tuple(Download(*file, tuple(folder + file[0] for folder in folders)) for file in files)


_MNIST = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",  # where it was published; it has long been refusing most downloads
)
_FASHION = (
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)
_CIFAR = (
    "https://www.cs.toronto.edu/~kriz/",
    "https://cave.cs.toronto.edu/kriz/",  # where the former redirects to, for when it does not
)

# Sizes and checksums are those that github.com/tensorflow/datasets publishes in tensorflow_datasets/url_checksums:
# mnist.txt, fashion_mnist.txt, cifar10.txt and cifar100.txt.
DOWNLOADS: dict[str, tuple[Download, ...]] = {
    "mnist": _files(
        _MNIST,
        ("train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        ("train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        ("t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        ("t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    ),
    "fashion-mnist": _files(
        _FASHION,
        ("train-images-idx3-ubyte.gz", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        ("train-labels-idx1-ubyte.gz", 29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ("t10k-images-idx3-ubyte.gz", 4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        ("t10k-labels-idx1-ubyte.gz", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    ),
    "cifar10": _files(
        _CIFAR,
        ("cifar-10-binary.tar.gz", 170052171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"),
    ),
    "cifar100": _files(
        _CIFAR,
        ("cifar-100-binary.tar.gz", 168513733, "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"),
    ),
}


def in_cache(name: str) -> Path | None:
    """The folder of a data set that has been fetched into the cache, all of it; by its sizes, which is quick."""
    folder = cache_folder("datasets", name)
    for file in DOWNLOADS[name]:
        path = folder / file.name
        if not path.is_file() or path.stat().st_size != file.size:
            return None
    return folder


def fetch(name: str, to: Path | None = None, progress: Progress = lambda file, done, size: None) -> list[Fetched]:
    """Bring every file of a data set into a folder, by default its own in the cache; sound ones are left alone."""
    if name not in DOWNLOADS:
        raise unknown("data set to fetch", name, DOWNLOADS)
    folder = to or cache_folder("datasets", name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Two processes that write to one part spoil it. The folder may be the user's: nothing of ours stays in it.
        lock = folder / ".lock"
        with claimed(lock, f"Another process is fetching into {folder}. Wait until it is done."):
            try:
                return [_fetch(file, folder, to is None, progress) for file in DOWNLOADS[name]]
            finally:
                lock.unlink(missing_ok=True)
    except _Unreachable as error:
        wanted = " and ".join(file.name for file in DOWNLOADS[name])
        raise GradlabError(f"{error} Try again later, or put {wanted} into {folder} by hand.") from None
    except OSError as error:  # those of the network have been dealt with
        raise GradlabError(
            f"{folder} cannot be written: {error.strerror}. Name a folder with room: --to FOLDER, or set GRADLAB_CACHE."
        ) from None


def _fetch(file: Download, folder: Path, ours: bool, progress: Progress) -> Fetched:
    target, part = folder / file.name, folder / f"{file.name}.part"
    if target.exists():
        if file_key(target) == file.sha256:
            return Fetched(target, file.size, fresh=False)
        if not ours:  # data sets have files of the same name: this may be another one
            raise GradlabError(
                f"{target} is there already, and is not the file to fetch: its SHA-256 is not {file.sha256}. "
                "Move it away, or name another folder: --to FOLDER."
            )
    failures = []
    for address in file.addresses:
        try:
            _receive(file, address, part, progress)
            _check(part, file)
        except _Failed as failure:
            failures.append(f"{address} ({failure})")
        else:
            flush(part)
            part.replace(target)
            return Fetched(target, file.size, fresh=True)
    raise _Unreachable(f"{file.name} could not be fetched from {'; nor from '.join(failures)}.")


class _Failed(Exception):
    """An address did not give the file; the message says why."""


class _Unreachable(Exception):
    """No address did; the message says why of each."""


def _receive(file: Download, address: str, part: Path, progress: Progress) -> None:
    """Complete the part. A connection that is cut is taken up where it broke, as long as each brings something new."""
    if _length(part) > file.size:
        part.unlink()
    longest = _length(part)
    if longest == file.size:
        return
    while reason := _connect(file, address, part, progress):
        if _length(part) <= longest:
            raise _Failed(reason)
        longest = _length(part)


def _connect(file: Download, address: str, part: Path, progress: Progress) -> str:
    """Append what one connection brings to the part. Why it ended too early; empty if it did not."""
    done = _length(part)
    headers = {"User-Agent": f"gradlab/{__version__}"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        response = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        return f"HTTP {error.code} {error.reason}"
    except (OSError, http.client.HTTPException) as error:
        return _reason(error)
    with response:
        if response.status != 206 or not response.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            done = 0  # the whole file comes, whatever was asked for
        end = None if response.length is None else done + response.length
        with part.open("ab" if done else "wb") as out:
            while done <= file.size:  # what is longer is not the file, and need not be read to its end
                try:
                    block = response.read1(_BLOCK)
                except (OSError, http.client.HTTPException) as error:
                    return _reason(error)
                if not block:
                    break
                out.write(block)
                done += len(block)
                progress(file.name, done, file.size)
    if end is not None and done < min(end, file.size):
        return f"the connection was cut after {done:,} of {end:,} bytes"
    return ""


def _check(part: Path, file: Download) -> None:
    """Delete a part that is not the file."""
    digest, size = file_key(part), _length(part)
    if digest != file.sha256:
        part.unlink()
        raise _Failed(
            f"it gave {size:,} bytes with SHA-256 {digest}, expected {file.size:,} with {file.sha256}; deleted"
        )


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer for {TIMEOUT:g} s"
    return (isinstance(cause, OSError) and cause.strerror) or one_line(Exception(cause)) or type(cause).__name__
