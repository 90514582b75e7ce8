"""What there is to say about a function of `maths`, gathered from its docstring, its checks and its code."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from types import ModuleType
from typing import Any

from gradlab import maths
from gradlab.explanation.block import SourceCode
from gradlab.explanation.docstring import Docstring
from gradlab.explanation.equations import sentence, terminal
from gradlab.maths import arrays
from gradlab.verification import checks
from gradlab.verification.subject import subjects

_KIND = "maths"


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Those that are verified, by the names that `gradlab verify` has for them, and others that show how they are used.

    >>> {"maths.einsum", "maths.normal.condition", "maths.KeyValueStore"} <= set(functions())
    True
    """
    verified = {name: function for name, function in subjects.items() if name.startswith(f"{_KIND}.")}
    known = {inspect.unwrap(function) for function in verified.values()}
    others = {}
    for module in pkgutil.walk_packages(maths.__path__, f"{maths.__name__}."):
        if module.name == arrays.__name__:
            continue  # how functions are called, and none of them
        for name, member in vars(importlib.import_module(module.name)).items():
            own = inspect.unwrap(member) if inspect.isroutine(member) else member
            public = inspect.isroutine(member) or inspect.isclass(member)
            if public and not name.startswith("_") and own.__module__ == module.name and own not in known:
                others[f"{_KIND}.{name}"] = member
    shown = {name: member for name, member in others.items() if Docstring.of(member).example}
    return dict(sorted({**shown, **verified}.items()))


@dataclass(frozen=True)
class FunctionExplanation:
    """Everything that `gradlab explain` shows of one of them."""

    name: str
    doc: Docstring
    laws: dict[str, str]
    peers: list[str]
    example: str
    """How it is used, from the import on; of a method, how its class is."""

    code: SourceCode

    @classmethod
    def of(cls, name: str) -> "FunctionExplanation":
        function = functions()[name]
        known = checks[name] if name in subjects else []
        return cls(
            name,
            Docstring.of(function),
            {check.name: check.formula for check in known if check.kind == "law"},
            [check.name for check in known if check.kind == "peer"],
            _example(function),
            SourceCode.of(function),
        )

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "summary": sentence(self.doc.summary),
            "equations": [{"latex": latex, "unicode": terminal(latex)} for latex in self.doc.equations],
            "text": [sentence(part) for part in self.doc.body if isinstance(part, str)],
            "laws": self.laws,
            "peers": self.peers,
            "example": self.example,
            "code": asdict(self.code),
        }


def _example(function: Callable[..., Any]) -> str:
    own = inspect.unwrap(function)
    module, name = sys.modules[own.__module__], own.__qualname__.partition(".")[0]
    shown = Docstring.of(function).example or Docstring.of(getattr(module, name)).example
    return "\n".join([*_imports(shown, module), shown]) if shown else ""


def _imports(example: str, module: ModuleType) -> list[str]:
    """What an example takes from its module."""
    trees = [ast.walk(ast.parse(each.source)) for each in doctest.DocTestParser().get_examples(example)]
    used = sorted({node.id for tree in trees for node in tree if isinstance(node, ast.Name)} & set(vars(module)))
    imported = {name: getattr(module, name) for name in used}
    whole = {name: value.__name__ for name, value in imported.items() if isinstance(value, ModuleType)}
    lines = [f">>> import {known}" + f" as {name}" * (name != known) for name, known in whole.items()]
    homes: dict[str, list[str]] = {}
    for name in imported.keys() - whole.keys():
        homes.setdefault(getattr(imported[name], "__module__", module.__name__), []).append(name)
    return lines + [f">>> from {home} import {', '.join(sorted(names))}" for home, names in sorted(homes.items())]
