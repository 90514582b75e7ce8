"""SHA256SUMS of a folder whose files are written one by one: whoever reads one learns whether it is as it was written.

A file and its sum cannot be replaced at the same moment. So the sum of the new content is added first, the file is
replaced, and the sum of the old content is removed last: whenever the process is killed, the file is one of those that
SHA256SUMS lists.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gradlab.errors import GradlabError
from gradlab.files.reading import Damaged, T, decode, parse_json, read_bytes
from gradlab.files.sums import SUMS, checked_digest, parse_sums, sha256, sums_text
from gradlab.files.writing import ANOTHER_PLACE, new_file, write_file

_BRING_BACK = "Every file of the folder has its sum there. Bring it back from a copy of the folder."
_ADVICE = ANOTHER_PLACE
_ATTEMPTS = 2  # the file and its sum may both be replaced between the two readings

Sums = dict[str, list[str]]
"""For each file the digests that it may have: two while it is replaced, and after a replacement that was cut short."""


class FolderSums:
    """The sums of a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def create(self, names: Iterable[str], advice: str = _ADVICE, kind: type[GradlabError] = GradlabError) -> None:
        """Write them for these files of a new folder."""
        self._write({name: [sha256(self.folder / name)] for name in names}, advice, kind)

    def read(self) -> Sums:
        """The digests by the names of the files, which are relative to the folder."""
        path, sums = self.folder / SUMS, Sums()
        for name, digest in parse_sums(read_bytes(path, _BRING_BACK)):
            sums.setdefault(name, []).append(digest)
        return sums

    def read_bytes(self, name: str, advice: str = "") -> bytes:
        """The content of a file, if it is as it was written."""
        for _ in range(_ATTEMPTS):
            content = read_bytes(self.folder / name, advice)
            if hashlib.sha256(content).hexdigest() in self._digests(name, advice):
                return content
        raise self._mismatch(name, advice)

    def read_text(self, name: str, advice: str = "") -> str:
        return decode(self.read_bytes(name, advice), self.folder / name, advice)

    def read_json(self, name: str, form: type[T], advice: str = "") -> T:
        return parse_json(self.read_text(name, advice), form, self.folder / name, advice)

    def check(self, name: str, advice: str = "") -> None:
        """The same of a file that is too large to be read as a whole."""
        for _ in range(_ATTEMPTS):
            if checked_digest(self.folder / name, advice) in self._digests(name, advice):
                return
        raise self._mismatch(name, advice)

    @contextmanager
    def new_file(self, name: str, advice: str = _ADVICE, kind: type[GradlabError] = GradlabError) -> Iterator[Path]:
        """The name of a temporary file to write, which takes the place of the file when the block ends well."""
        with new_file(self.folder / name, advice, kind) as new:
            yield new
            sums, digest = self.read(), sha256(new)
            self._write({**sums, name: [*sums.get(name, []), digest]}, advice, kind)
        self._write({**sums, name: [digest]}, advice, kind)

    def add(self, names: Iterable[str], advice: str = _ADVICE, kind: type[GradlabError] = GradlabError) -> None:
        """List files as they are now."""
        self._write({**self.read(), **{name: [sha256(self.folder / name)] for name in names}}, advice, kind)

    def remove(self, names: Iterable[str], advice: str = _ADVICE, kind: type[GradlabError] = GradlabError) -> None:
        """List files no longer, and of the others one digest each, if they have one of the two that are listed."""
        dropped = {*names}
        kept = {name: self._settle(name, digests) for name, digests in self.read().items() if name not in dropped}
        self._write(kept, advice, kind)

    def _settle(self, name: str, digests: list[str]) -> list[str]:
        if len(digests) < 2:
            return digests
        digest = sha256(self.folder / name)
        return [digest] if digest in digests else digests

    def _digests(self, name: str, advice: str) -> list[str]:
        sums = self.read()
        if name not in sums:
            raise Damaged(self.folder / SUMS, f"it does not list {name}", advice or _BRING_BACK)
        return sums[name]

    def _mismatch(self, name: str, advice: str) -> Damaged:
        return Damaged(self.folder / name, f"its SHA-256 is not the one in {SUMS}", advice)

    def _write(self, sums: Sums, advice: str, kind: type[GradlabError]) -> None:
        lines = [(name, digest) for name, digests in sorted(sums.items()) for digest in dict.fromkeys(digests)]
        write_file(self.folder / SUMS, sums_text(lines), advice, kind)
