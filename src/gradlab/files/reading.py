"""JSON and TOML read again. Whatever a file holds, the end is content of the wanted form or one message."""

import functools
import json
import re
import stat
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from gradlab.errors import GradlabError, one_line
from gradlab.printable import listed, printable

MOST_BYTES = 2**28  # more is no file of ours, and would fill the memory
MOST_NESTED = 100  # levels; functions here call themselves for each
_MOST_WHOLE = 2**64  # whole numbers beyond it are no count and no seed, and overflow in arithmetic
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # how JSON writes half a character; pairs of them are one
_NAMED = 3  # mistakes that a message names

T = TypeVar("T")


class Damaged(GradlabError):
    """A file is not what it must be: which, where in it, and what to do."""

    def __init__(self, path: Path | str, where: str, advice: str = ""):
        self.what = f"{printable(path)} is damaged: {where.rstrip('.')}."
        """The message without the advice."""
        super().__init__(f"{self.what} {advice}".rstrip())


def read_json(path: Path, form: type[T], advice: str = "") -> T:
    """What a JSON file holds, checked by its form: a TypedDict, or any other type that pydantic knows."""
    return parse_json(read_text(path, advice), form, path, advice)


def read_toml(path: Path, advice: str = "") -> dict[str, Any]:
    return parse_toml(read_text(path, advice), path, advice)


def parse_json(text: str, form: type[T], source: Path | str, advice: str = "") -> T:
    """The same of a text; `source` names it in errors."""
    content = _parse(json.loads, text, source, advice)
    if _HALF.search(text) and _is_halved(content):
        raise Damaged(source, "it holds half a character (a lone surrogate)", advice)
    return check_content(content, form, source, advice)


def parse_toml(text: str, source: Path | str, advice: str = "") -> dict[str, Any]:
    content: dict[str, Any] = _parse(tomllib.loads, text, source, advice)
    return content


def check_content(content: Any, form: type[T], source: Path | str, advice: str = "") -> T:
    """The content, if it is of that form, with strict types: nothing is turned into what it might have meant.

    Of a dataclass it is the fields, and no others: one whose name has changed must not be left to its default.
    """
    from pydantic import ValidationError  # slow to load, and most commands read no file

    adapter = _adapter(cast(Any, form))
    try:
        if not is_dataclass(form):
            return cast(T, adapter.validate_python(content, strict=True))
        others = content.keys() - {field.name for field in fields(form)} if isinstance(content, dict) else ()
        if others:
            raise Damaged(source, f"it has {listed(sorted(others), _NAMED)}, which this version does not know", advice)
        return cast(T, adapter.validate_json(json.dumps(content), strict=True))  # whose objects are dataclasses
    except ValidationError as error:
        mistakes = [_mistake(one["loc"], one["msg"]) for one in error.errors(include_input=False, include_url=False)]
        raise Damaged(source, listed(mistakes, _NAMED, 200), advice) from None


@functools.cache
def _adapter(form: Any) -> Any:  # built once: that takes longer than most files do
    from pydantic import TypeAdapter

    return TypeAdapter(form)


@contextmanager
def interpreting(source: Path | str, advice: str = "") -> Iterator[None]:
    """What fails meanwhile fails because of what a file says, though its form is right."""
    try:
        yield
    except GradlabError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise Damaged(source, f"{type(error).__name__}: {one_line(error)}", advice) from None


def _mistake(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place)) or 'its content'}: {message[:1].lower()}{message[1:]}"


def read_bytes(path: Path, advice: str = "", most: int = MOST_BYTES) -> bytes:
    """A plain file, if it is one and not larger than any of ours could be."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Damaged(path, "it is no file", advice)
        if status.st_size > most:
            raise Damaged(path, f"its {status.st_size:,} bytes are more than such a file can have", advice)
        return path.read_bytes()
    except OSError as error:
        raise Damaged(path, f"it cannot be read ({error.strerror})", advice) from None


def read_text(path: Path, advice: str = "") -> str:
    """The same as text."""
    return decode(read_bytes(path, advice), path, advice)


def decode(content: bytes, path: Path, advice: str = "") -> str:
    """The content of a file as text."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Damaged(path, f"byte {error.start} is no UTF-8", advice) from None


def _parse(parse: Callable[[str], Any], text: str, source: Path | str, advice: str) -> Any:
    try:
        content = parse(text)
    except RecursionError:  # both parsers count their depth, and end before the stack does
        raise Damaged(source, "it is nested too deeply", advice) from None
    except ValueError as error:  # the syntax, or a number with thousands of digits
        raise Damaged(source, one_line(error), advice) from None
    level, depth = [content], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        level = [below for one in level for below in (one.values() if isinstance(one, dict) else one)]
        depth += 1
        if depth > MOST_NESTED:
            raise Damaged(source, "it is nested too deeply", advice)
        if any(isinstance(one, int) and not -_MOST_WHOLE < one < _MOST_WHOLE for one in level):
            raise Damaged(source, "it holds a number that is too large", advice)
    return content


def _is_halved(content: Any) -> bool:
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
