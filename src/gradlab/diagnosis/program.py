"""What a user wants to have run: the code of a script or a module, found as Python finds it, or refused in a line."""

import builtins
import difflib
import os
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from gradlab.errors import GradlabError, one_line


class NotRunnable(GradlabError):
    """There is nothing to run; nothing of the user's script has run yet."""

    everywhere = True


@dataclass(frozen=True)
class Program:
    """Code, and what Python would tell it about itself."""

    code: CodeType
    argv0: str
    """What its sys.argv begins with."""
    file: str
    loader: Any
    spec: ModuleSpec | None = None
    """Of a module; a script has none. Processes that it starts read in it how to load `__main__` again."""

    def as_main(self) -> ModuleType:
        """An empty `__main__` that looks as Python makes it."""
        main = ModuleType("__main__")
        package, cached = (None, None) if self.spec is None else (self.spec.parent, self.spec.cached)
        vars(main).update(__package__=package, __loader__=self.loader, __spec__=self.spec)
        if sys.version_info < (3, 14):
            vars(main).update(__annotations__={})
        vars(main).update(__builtins__=builtins, __file__=self.file, __cached__=cached)
        return main


def find_script(name: str) -> Program:
    """A script by its path; its folder becomes the first in which its imports are looked for."""
    path = Path(name)
    if not path.exists():
        raise NotRunnable(_no_such_script(path))
    if path.is_dir():
        inside = sorted(path.glob("*.py"))
        example = f", such as {inside[0]}" if inside else ""
        raise NotRunnable(f"{name} is a folder. Give a script{example}, or a package by its name: -m {path.name}.")
    if path.suffix == ".ipynb":
        raise NotRunnable(
            f"{name} is a notebook. In a cell of it, write: with gradlab.doctor(): … around the training."
        )
    try:
        source = path.read_bytes()
    except OSError as error:
        raise NotRunnable(f"{name} cannot be read: {error.strerror}.") from None
    # As Python does: absolute, but neither normal nor free of links.
    file = os.path.join(os.getcwd(), name)
    code = _compiled(name, lambda: compile(source, file, "exec", dont_inherit=True))
    _first_on_path(os.path.dirname(os.path.realpath(file)))
    return Program(code, name, file, SourceFileLoader("__main__", file))


def find_module(name: str) -> Program:
    """A module by its name, or the `__main__` of a package; the packages that it is in are imported."""
    if name.endswith(".py") and Path(name).exists():  # to look for `train.py` would import, and so run, `train`
        raise NotRunnable(f"{name} is a script, not the name of a module: leave out -m.")
    _first_on_path(os.getcwd())
    spec = _spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        package, spec = spec, _spec(f"{name}.__main__")
        if spec is None:
            raise NotRunnable(f"{name} is a package without __main__.py. Give one of its modules{_modules(package)}.")
    if spec is None:
        raise NotRunnable(_no_such_module(name))
    loader: Any = spec.loader
    code = _compiled(spec.origin or name, lambda: loader.get_code(spec.name) if hasattr(loader, "get_code") else None)
    if code is None:
        raise NotRunnable(f"The module {name} is not Python code: {spec.origin} cannot be run.")
    file = spec.origin or code.co_filename
    return Program(code, file, file, loader, spec)


def _compiled(name: str, make: Any) -> Any:
    try:
        return make()
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        line = f": {error.text.strip()}" if error.text and error.text.strip() else ""
        raise NotRunnable(f"{name}{where} is not valid Python: {error.msg}{line}") from None
    except ValueError as error:  # null bytes, for some versions of Python
        raise NotRunnable(f"{name} is not valid Python: {one_line(error)}") from None


def _spec(name: str) -> ModuleSpec | None:
    """None where it or a package that it is in is not there; what else goes wrong in those is their own failure."""
    if name.startswith("."):
        return None
    try:
        return find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise
    except ValueError:  # no name, or a module without a spec
        return None


def _first_on_path(folder: str) -> None:
    """In place of what Python put there for the gradlab command; nothing where Python was told to leave it out."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _no_such_script(path: Path) -> str:
    if not path.parent.exists():
        return f"There is no folder {path.parent}, so there is no script {path}."
    module = Path(*path.name.split(".")).with_suffix(".py")
    if path.parent == Path() and path.suffix != ".py" and len(module.parts) > 1 and module.exists():
        return f"There is no script '{path}'. Did you mean the module: -m {path}?"
    near = " or ".join(f"'{path.parent / stem}.py'" for stem in _close(path.stem, path.parent))
    hint = f"Did you mean {near}?" if near else f"Looked in {path.parent.resolve()}."
    return f"There is no script '{path}'. {hint}"


def _no_such_module(name: str) -> str:
    package, dot, last = name.rpartition(".")
    near = " or ".join(f"'{package}{dot}{stem}'" for stem in _close(last, Path(*package.split("."))))
    hint = f"Did you mean {near}?" if near else f"Python looked in {os.getcwd()} and in its installed packages."
    return f"There is no module '{name}'. {hint}"


def _close(name: str, folder: Path) -> list[str]:
    beside = [p.stem for p in folder.glob("*.py") if not p.stem.startswith("__")]
    return difflib.get_close_matches(name, beside, n=3, cutoff=0.6)


def _modules(package: ModuleSpec) -> str:
    places = package.submodule_search_locations or []
    names = sorted(p.stem for place in places for p in Path(place).glob("*.py") if p.stem != "__init__")
    return f", such as {package.name}.{names[0]}" if names else ""
