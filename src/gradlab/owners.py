"""Who brings the names that are registered: gradlab itself, installed packages, and files that the user names.

A file is run only because a person named it. What it registers are names like ours; a run keeps a copy of it and its
SHA-256, so that whoever goes on with the run knows which file it needs, and nothing of a run folder is ever executed.
"""

import hashlib
import importlib.metadata
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from gradlab.errors import GradlabError, notice, one_line

GROUP = "gradlab.parts"
"""The entry points by which installed packages bring recipes and parts: modules that register them when imported."""

reading = ""
"""The file that is being run; what is registered meanwhile is its own."""
entered: list[tuple[str, str]] = []
"""What was registered since it began: kinds and names."""

_installed = False


@dataclass(frozen=True)
class Code:
    """A file of the user's that was run, and what it registered: kinds and names."""

    path: Path
    sha256: str
    registered: tuple[tuple[str, str], ...]

    @property
    def recipes(self) -> list[str]:
        return [name for kind, name in self.registered if kind == "recipe"]


loaded: dict[str, Code] = {}
"""Files that were run, by their absolute paths."""


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load(path: str | Path) -> Code:
    """Run a Python file that registers recipes or parts; once, unless it has changed since."""
    global reading
    file = Path(path).absolute()
    try:
        digest = sha256(file)
    except OSError as error:
        raise GradlabError(f"The code file {path} cannot be read: {error}.") from None
    key = str(file)
    if key in loaded and loaded[key].sha256 == digest:
        return loaded[key]
    name = f"gradlab_code_{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise GradlabError(f"{path} is no Python file: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations look their module up
    before, reading = reading, key
    entered.clear()
    sys.path.insert(0, str(file.parent))  # its own neighbours can be imported, as when it is run as a script
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise GradlabError(f"{path} does not run: {_own_line(error, key)}") from None
    finally:
        sys.path.remove(str(file.parent))
        reading = before
    if not entered:
        raise GradlabError(
            f"{path} registers nothing. Put @gradlab.register.recipe, .model, .data or .task before what it brings."
        )
    loaded[key] = Code(file, digest, tuple(entered))
    return loaded[key]


def _own_line(error: Exception, file: str) -> str:
    """Where in the user's file it went wrong, and what Python, or gradlab, says of it."""
    what = str(error) if isinstance(error, GradlabError) else f"{type(error).__name__}: {one_line(error)}"
    if isinstance(error, SyntaxError):
        line, text = error.lineno, error.text
        return f"line {line}: {(text or '').strip()!r}. {type(error).__name__}: {error.msg}."
    frames = [frame for frame in traceback.extract_tb(_trace(error)) if frame.filename == file]
    if not frames:
        return what
    last = frames[-1]
    return f"line {last.lineno}: {(last.line or '').strip()!r}. {what}"


def _trace(error: Exception) -> TracebackType | None:
    return error.__traceback__


def load_installed() -> None:
    """Let installed packages register their parts: once, when a name is asked for that is not ours, or all are."""
    global _installed
    if _installed:
        return
    _installed = True
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            package = point.dist.name if point.dist else "a package"
            notice(f"{package} brings parts by {point.value}, which failed: {type(error).__name__}: {one_line(error)}")
