"""A document: UTF-8 bytes in a file or in memory, read piece by piece and never whole."""

import codecs
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gradlab.data.memory import check_memory
from gradlab.errors import GradlabError

_BLOCK = 2**16  # bytes read at once
_PIECE, _LONGEST = 2**16, 2**20  # characters of a piece, and from which on it is cut where there is no border

# Between a character that is no white space and a blank, tab or newline every tokenizer of this package has a border
# (see `kinds.py`), so that a text cut there gives the tokens that it gives as a whole.
_BORDER = re.compile(r"\S(?=[ \t\n])")


@dataclass(frozen=True, kw_only=True)
class Document:
    r"""Text under a name: bytes `start` to `stop` of a file or of bytes in memory.

    Iterating gives the text in pieces of some 64 thousand characters, read anew each time. A byte order mark is passed
    over and `\r\n` and `\r` become `\n`, as Python's `open` has it: what a model learns of, and counts the bytes of,
    is the text as an editor shows it.

    >>> Document.of("note", "one\r\ntwo").read()
    'one\ntwo'
    """

    name: str
    source: Path | bytes
    start: int
    stop: int

    @classmethod
    def at(cls, path: Path) -> "Document":
        try:
            return cls(name=str(path), source=path, start=0, stop=path.stat().st_size)
        except OSError as error:
            raise GradlabError(f"{path} cannot be read: {error.strerror}.") from None

    @classmethod
    def of(cls, name: str, text: str) -> "Document":
        content = text.encode()
        return cls(name=name, source=content, start=0, stop=len(content))

    @property
    def size(self) -> int:
        """Bytes, as they are stored."""
        return self.stop - self.start

    def part(self, start: int, stop: int) -> "Document":
        """The bytes from `start` to `stop` of this one."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    def key(self) -> str:
        """SHA-256 of the bytes: the same for the same content, under whatever name."""
        digest = hashlib.sha256()
        for block in self._blocks(self.start):
            digest.update(block)
        return digest.hexdigest()

    def __iter__(self) -> Iterator[str]:
        held = ""
        for text in self._texts():
            held += text
            while len(held) >= _PIECE:
                border = _BORDER.search(held, _PIECE - 1)
                if border is None and len(held) < _LONGEST:
                    break
                cut = border.end() if border else len(held)
                yield held[:cut]
                held = held[cut:]
        if held:
            yield held

    def read(self) -> str:
        """The whole text."""
        check_memory(4 * self.size, self.name, "Give smaller texts.")
        return "".join(self)

    def line_from(self, place: int) -> int:
        """The first place at or after this one where a line begins; where none is near, where a character does."""
        if not 0 < place < self.size:
            return min(max(place, 0), self.size)
        block = next(self._blocks(self.start + place - 1), b"")
        line = block.find(b"\n")
        if line >= 0:
            return place + line
        if place - 1 + len(block) == self.size:
            return self.size
        return place + next((i for i, byte in enumerate(block[1:5]) if byte & 0xC0 != 0x80), 0)

    def _texts(self) -> Iterator[str]:
        decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")(), translate=True)
        read, marked = self.start, self.start == 0
        for block in self._blocks(self.start):
            read += len(block)
            if text := self._decoded(decoder, block, read):
                yield text.removeprefix("\ufeff") if marked else text
                marked = False
        yield self._decoded(decoder, b"", read, final=True)

    def _decoded(self, decoder: io.IncrementalNewlineDecoder, block: bytes, read: int, final: bool = False) -> str:
        try:
            return decoder.decode(block, final)
        except UnicodeDecodeError as error:
            # The object is the block with what was left of the last one before it, so both end at the same byte.
            place = read - len(error.object) + error.start
            utf_16 = error.object[error.start : error.start + 2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            coding = "UTF-16" if place == 0 and utf_16 else "ISO-8859-1"
            raise GradlabError(
                f"{self.name} is not UTF-8: byte {place} (from 0) is 0x{error.object[error.start]:02x}, "
                f"{error.reason}. Convert it: iconv -f {coding} -t UTF-8 OLD > NEW, if {coding} is what it is."
            ) from None

    def _blocks(self, place: int) -> Iterator[bytes]:
        """The stored bytes from a place of the file on."""
        try:
            with io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb") as file:
                file.seek(place)
                while block := file.read(min(_BLOCK, self.stop - place)):
                    place += len(block)
                    yield block
        except OSError as error:
            raise GradlabError(f"{self.name} cannot be read: {error.strerror}.") from None


def cut(text: str, size: int) -> Iterator[str]:
    """A text in parts of at least so many characters, but for the last, cut at borders of tokens."""
    start = 0
    while start < len(text):
        border = _BORDER.search(text, start + size - 1)
        stop = border.end() if border else len(text)
        yield text[start:stop]
        start = stop
