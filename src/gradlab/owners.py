"""Who brings the names that are registered: gradlab itself, installed packages, and files that the user names.

A file is run only because a person named it. What it registers are names like ours; a run keeps a copy of it and its
SHA-256, so that whoever goes on with the run knows which file it needs, and nothing of a run folder is ever executed.
What such a file raises is reported with its own line, as every error in what a user passes.
"""

import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from gradlab.errors import GradlabError, is_out_of_memory, notice, one_line

GROUP = "gradlab.parts"
"""The entry points by which installed packages bring recipes and parts: modules that register them when imported."""

reading = ""
"""The file that is being run; what is registered meanwhile is its own."""
entered: list[tuple[str, str]] = []
"""What was registered since it began: kinds and names."""

_installed = False


@dataclass(frozen=True)
class Code:
    """A file of the user's that was run, as it was then, and what it registered: kinds and names."""

    path: Path
    content: bytes = field(repr=False)
    registered: tuple[tuple[str, str], ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def recipes(self) -> list[str]:
        return [name for kind, name in self.registered if kind == "recipe"]


loaded: dict[str, Code] = {}
"""Files that were run, by their absolute paths."""


def named(name: str) -> list[Code]:
    """Those of a file name."""
    return [code for code in loaded.values() if code.path.name == name]


def load(path: str | Path) -> Code:
    """Run a Python file that registers recipes or parts; once, unless it has changed since."""
    file = Path(os.path.abspath(path))
    try:
        content = file.read_bytes()
    except OSError as error:
        raise GradlabError(f"The code file {path} cannot be read: {error.strerror}.") from None
    if file.suffix != ".py":
        raise GradlabError(f"{path} is no Python file: its name must end in .py.")
    key = str(file)
    if key not in loaded or loaded[key].content != content:
        registered = _run(path, file, content)
        if not registered:
            raise GradlabError(
                f"{path} registers nothing. Put @gradlab.register.recipe, .model, .data or .task before what it brings."
            )
        loaded[key] = Code(file, content, registered)
    return loaded[key]


def _run(path: str | Path, file: Path, content: bytes) -> tuple[tuple[str, str], ...]:
    """Run the content of a file as a module, and say what it registered."""
    global reading, entered
    importlib.import_module("gradlab.register")  # which enters all names of ours: what comes now is the file's own
    name = f"gradlab_code_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    module = _module(name, file)
    sys.modules[name] = module  # dataclasses and annotations look their module up
    before = reading, entered
    reading, entered = str(file), []
    sys.path.insert(0, str(file.parent))  # its own neighbours can be imported, as when it is run as a script
    try:
        # Compiled here: an import may take the bytecode of an earlier version that was saved in the same second.
        exec(compile(content, str(file), "exec"), module.__dict__)
        return tuple(entered)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise GradlabError(f"{path} does not run: {_own_line(error, {str(file)}) or _what(error)}") from error
    finally:
        sys.path.remove(str(file.parent))
        reading, entered = before


def _module(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None, "of a .py file there always is one"
    return importlib.util.module_from_spec(spec)


# What such a file raises.


@contextmanager
def telling(kind: type[GradlabError] = GradlabError) -> Iterator[None]:
    """What a user's file raises meanwhile becomes an error that shows its line. Everything else passes as it is."""
    try:
        yield
    except Exception as error:
        blamed = blame(error)
        if not blamed:
            raise
        raise kind(blamed) from error


def blame(error: BaseException) -> str:
    """The file, the line and the words of an error that a user's file raised, or made something raise; else nothing.

    Of several lines of such files it is the one that was run last. Want of memory is nobody's mistake.
    """
    if is_out_of_memory(error):
        return ""
    return _own_line(error, set(loaded), named=True)


def _own_line(error: BaseException, files: set[str], named: bool = False) -> str:
    """Where in these files it went wrong, and what Python, or gradlab, says of it; empty where it did not."""
    if isinstance(error, SyntaxError) and error.filename in files and error.lineno is not None:
        file, number, text = error.filename, error.lineno, error.text
        # The message of the error itself has the file and the line in it once more.
        what = f"{type(error).__name__}: {error.msg}."
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        if not frames:
            return ""
        file, number, text = frames[-1].filename, frames[-1].lineno or 0, frames[-1].line
        what = _what(error)
    where = f"{shown(Path(file))}, line {number}" if named else f"line {number}"
    return f"{where}: {(text or '').strip()!r}. {what}"


def _what(error: BaseException) -> str:
    if isinstance(error, GradlabError):
        return str(error)
    said = one_line(error)
    return f"{type(error).__name__}{': ' * bool(said)}{said}{'' if said.endswith('.') else '.'}"


def shown(file: Path) -> str:
    """A path as one types it: from the working directory, where the file is below it."""
    try:
        return str(file.relative_to(Path.cwd()))
    except ValueError:
        return str(file)


# Packages.


def load_installed() -> None:
    """Let installed packages register their parts: once, when a name is asked for that is not ours, or all are."""
    global _installed, reading
    if _installed:
        return
    _installed = True
    before, reading = reading, ""  # what they bring is not of the file that asks for it
    try:
        for point in importlib.metadata.entry_points(group=GROUP):
            _load(point)
    finally:
        reading = before


def _load(point: importlib.metadata.EntryPoint) -> None:
    try:
        point.load()
    except (Exception, SystemExit) as error:
        package = point.dist.name if point.dist else "a package"
        notice(f"{package} brings parts by {point.value}, which failed: {_what(error)}")
