"""The records of a CSV file, with the line on which each begins."""

import csv
import os
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gradlab.data.tables.blocks import Block, cut, stripped
from gradlab.errors import GradlabError
from gradlab.printable import listed

SEPARATORS = ",;\t|"
_NAMED = {"tab": "\t", "\\t": "\t"}
_ENCODING = "Save it as UTF-8, or name its encoding, as in data.encoding=latin-1."
_TOGETHER = 2**21  # characters that are handled at once
_RECORDS = 20_000  # or records, one by one


class Records:
    """A CSV file: the first record names the columns; values are stripped of spaces around them.

    Lines without a value are passed over. Quotes may hold separators and line ends. Iterating reads the file from its
    start, a few thousand records at a time.
    """

    def __init__(self, path: Path, separator: str = "auto", encoding: str = "utf-8"):
        self.path = path
        self.position = 0  # about how many bytes have been read, by the one who iterates
        self.encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
        self.separator = self._guess() if separator == "auto" else _NAMED.get(separator, separator)
        if len(self.separator) != 1 or self.separator in '"\r\n':
            raise GradlabError(f"data.separator={separator} is not one character. It takes: , ; | tab or the like.")
        first = next(self._parse(), None)
        if first is None:
            raise GradlabError(f"{path} is empty. It needs a first line with the names of the columns.")
        self.names = [name.strip() or f"column {i + 1}" for i, name in enumerate(first[1])]
        self._check_names()

    @property
    def decimal(self) -> str:
        """Files of much of Europe have semicolons between values, so that a comma can be the decimal point."""
        return "," if self.separator == ";" else "."

    def _guess(self) -> str:
        """The separator that the line of names has most of outside quotes."""
        first = ""
        for line in islice(self._lines(), 100):
            first += line
            if first.strip() and first.count('"') % 2 == 0:  # else the line ended within a name
                break
        return max(SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)

    def _check_names(self) -> None:
        if len(set(self.names)) < len(self.names):
            twice = next(name for name, count in Counter(self.names).items() if count > 1)
            raise GradlabError(f"{self.path} has two columns named {twice!r}. Rename one of them.")
        if all(_is_number(name) for name in self.names):
            raise GradlabError(
                f"{self.path}: the first line must name the columns, but it holds numbers: {listed(self.names[:5])}."
            )

    def __iter__(self) -> Iterator[Block]:
        """From bytes, as long as nothing is unusual; from there on record by record, which says what is wrong."""
        done = yield from self._from_bytes()
        if done is not None:
            yield from self._with_care(done)

    def _from_bytes(self) -> Generator[Block, None, int | None]:
        """Fast, but it cannot say what is wrong, nor where: before anything unusual it ends, with what is done.

        None says that it came to the end of the file.
        """
        done, line, rest = -1, 1, b""  # the first row has the names
        if len(self.names) == 1 or not self.separator.isascii():  # of one column, an empty line may be a value
            return 0
        try:
            with self.path.open(newline="", encoding=self.encoding) as file:
                while text := file.read(_TOGETHER):
                    rest += text.encode()
                    if len(text) < _TOGETHER and not rest.endswith(b"\n"):
                        rest += b"\n"
                    block = cut(rest, self.separator, len(self.names), line)
                    if block is None:
                        return max(0, done)
                    line += int(np.count_nonzero(block.data == ord("\n")))
                    rest = rest[len(block.data) :]
                    self.position = os.lseek(file.fileno(), 0, os.SEEK_CUR)
                    if rows := len(block) - (done < 0):
                        yield block.last(rows)
                    done += len(block)
        except (ValueError, OSError):  # among them bytes that are no text
            return max(0, done)
        return max(0, done) if rest else None

    def _with_care(self, done: int) -> Iterator[Block]:
        """The records after those that are done, each with its line and checked."""
        records = self._parse()
        next(records)
        records = islice(records, done, None)
        rows: list[list[str]] = []
        lines: list[int] = []
        for line, record in records:
            if len(record) != len(self.names):
                raise GradlabError(
                    f"{self.path}, line {line}: {len(record)} values, but the first line names {len(self.names)} "
                    f"columns. Quote values that contain {self.separator!r}."
                )
            rows.append(record)
            lines.append(line)
            if len(rows) == _RECORDS:
                yield _columns(rows, lines)
                rows, lines = [], []
        if rows:
            yield _columns(rows, lines)

    def _parse(self) -> Iterator[tuple[int, list[str]]]:
        reader = self._reader(self._lines())
        line = 1
        try:
            for record in reader:
                if len(record) > 1 or (record and record[0].strip()):
                    yield line, record
                line = reader.line_num + 1
        except csv.Error as error:
            raise GradlabError(f"{self.path}, line {line} or below: {error}. Is a quote not closed?") from None

    def _reader(self, lines: Iterable[str]) -> Any:
        return csv.reader(lines, delimiter=self.separator, strict=True, skipinitialspace=True)

    def _lines(self) -> Iterator[str]:
        try:
            with self.path.open(newline="", encoding=self.encoding) as file:
                self.position = 0
                for number, line in enumerate(file, 1):
                    self.position += len(line)
                    if "\0" in line:
                        raise GradlabError(f"{self.path}, line {number}: a zero byte stands there. {_ENCODING}")
                    yield line
        except UnicodeError:
            raise GradlabError(f"{self._not_text()} {_ENCODING}") from None
        except LookupError:
            raise GradlabError(f"data.encoding={self.encoding} is no encoding of text. {_ENCODING}") from None
        except OSError as error:
            raise GradlabError(f"{self.path} cannot be read: {error.strerror or error}.") from None

    def _not_text(self) -> str:
        """What is wrong, by line and byte where it can be known: text is decoded in blocks, which end anywhere."""
        encoding = self.encoding.removesuffix("-sig")
        number = 0
        try:
            if b"\n".decode(encoding):  # else a line ends with other bytes than this one
                with self.path.open("rb") as file:
                    for line in file:
                        number += 1
                        line.decode(encoding)
        except UnicodeDecodeError as error:
            if number:
                return f"{self.path}, line {number}: the byte {error.object[error.start]:#04x} is not {encoding}."
        except UnicodeError:
            pass  # an encoding that knows no single bytes: no line can be named
        return f"{self.path} is not {encoding}."


def _columns(rows: list[list[str]], lines: Sequence[int]) -> Block:
    return Block([stripped(column) for column in zip(*rows, strict=True)], lines)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
