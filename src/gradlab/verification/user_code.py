"""Importing a user's own class or function: `attention.py:Mine`, or `package.module:Mine`."""

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from gradlab.errors import GradlabError, one_line, unknown


def import_object(where: str) -> Any:
    """What stands under a name in a file or in an importable module."""
    place, colon, name = where.rpartition(":")
    if not colon or not name:
        raise GradlabError(f"{where!r} names no class. Write FILE.py:Class, or module:Class.")
    if place.endswith(".py") and not Path(place).is_file():
        raise GradlabError(f"There is no file {place}.")
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else _by_name(place)
    except Exception as error:  # a user's file may raise anything while it is read
        raise GradlabError(f"{place} cannot be imported: {type(error).__name__}: {one_line(error)}") from error
    if not hasattr(module, name):
        own = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise unknown(f"class or function in {place},", name, own)
    return getattr(module, name)


def _from_file(path: Path) -> ModuleType:
    sys.path.insert(0, str(path.parent.resolve()))  # its neighbours can be imported, as if it were run
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is left beside the user's file
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def _by_name(name: str) -> ModuleType:
    sys.path.insert(0, "")
    return importlib.import_module(name)


def read_values(words: list[str]) -> dict[str, Any]:
    """The keyword values of a command line, as Python writes them where it can, else as text.

    >>> read_values(["embed_dim=8", "bias=false", "scale=1e-2", "form=tanh", "sizes=(2, 3)"])
    {'embed_dim': 8, 'bias': False, 'scale': 0.01, 'form': 'tanh', 'sizes': (2, 3)}
    >>> read_values(["out_proj.weight=proj.weight"])
    {'out_proj.weight': 'proj.weight'}
    """
    values: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not all(part.isidentifier() or part.isdigit() for part in key.split(".")):
            raise GradlabError(f"{word!r} is no value for the class. Write key=value, as in num_heads=4.")
        try:
            values[key] = ast.literal_eval(text.title() if text.lower() in ("true", "false", "none") else text)
        except (ValueError, SyntaxError):
            values[key] = text
    return values
