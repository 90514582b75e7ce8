"""What there is to say about a block, gathered from its docstring, its signature, its checks and its twins."""

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from gradlab import scratch
from gradlab.explanation.docstring import Docstring
from gradlab.explanation.equations import terminal
from gradlab.nn.blocks import Shape, blocks, costs, find_block, settings_of
from gradlab.verification import checks, examples


@dataclass(frozen=True)
class SourceCode:
    """A piece of source, and where to import it from."""

    name: str
    text: str

    @classmethod
    def of(cls, block: Callable[..., Any]) -> "SourceCode":
        inner = inspect.unwrap(block)
        return cls(f"{inner.__module__}.{inner.__qualname__}", without_docstring(inspect.getsource(inner)))

    @classmethod
    def of_twin(cls, function: Callable[..., Any]) -> "SourceCode":
        """With its docstring, which has the derivative, and with the gates it applies, which have it in code."""
        inner = inspect.unwrap(function)
        text = textwrap.dedent(inspect.getsource(inner)).rstrip()
        applied = re.findall(r"apply\((activations|gates)\.(\w+)", text)
        gates = [inspect.getsource(getattr(getattr(scratch, room), name)).rstrip() for room, name in applied]
        return cls(f"{inner.__module__}.{inner.__qualname__}", "\n\n\n".join([text, *gates]))


@dataclass(frozen=True)
class Explanation:
    """Everything that `gradlab explain` shows of one block."""

    name: str
    doc: Docstring
    cost: dict[str, str]
    shapes: str
    settings: str
    parameters: dict[str, tuple[int, ...]]
    built: str
    """The call that block the block whose parameters are shown."""

    laws: dict[str, str]
    peers: list[str]
    code: SourceCode
    twins: list[SourceCode]

    @classmethod
    def of(cls, name: str) -> "Explanation":
        name = blocks.spelled(name)
        block, known = find_block(name), checks[name]
        settings, parameters = examples[name]().settings, {}
        if isinstance(block, type):
            module: nn.Module = block(**settings)
            parameters = {key: tuple(value.shape) for key, value in module.named_parameters()}
        return cls(
            name,
            Docstring.of(block),
            costs[name],
            shapes_of(block),
            _settings_of(block),
            parameters,
            f"{block.__name__}({', '.join(f'{key}={value}' for key, value in settings.items())})",
            {check.name: check.formula for check in known if check.kind == "law"},
            [check.name for check in known if check.kind == "peer"],
            SourceCode.of(block),
            [SourceCode.of_twin(check.twin) for check in known if check.twin is not None],
        )

    @property
    def example(self) -> str:
        """How it is used, from the import on."""
        module, _, name = self.code.name.rpartition(".")
        shown = self.doc.example.removeprefix(">>> import torch\n")
        return f">>> import torch\n>>> from {module} import {name}\n{shown}"

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "summary": self.doc.summary,
            "equations": [{"latex": latex, "unicode": terminal(latex)} for latex in self.doc.equations],
            "text": [part for part in self.doc.body if isinstance(part, str)],
            "shapes": self.shapes,
            "settings": self.settings,
            "parameters": {key: list(shape) for key, shape in self.parameters.items()},
            "built": self.built,
            "cost": self.cost,
            "laws": self.laws,
            "peers": self.peers,
            "example": self.example,
            "code": {"name": self.code.name, "text": self.code.text},
            "twins": [{"name": twin.name, "text": twin.text} for twin in self.twins],
        }


def summaries() -> dict[str, str]:
    """Each block in one sentence, in order of its name."""
    return {name: Docstring.of(blocks[name]).summary for name in sorted(blocks)}


def shapes_of(block: Callable[..., Any]) -> str:
    """The shapes of what is given and of what comes back, read off the annotations.

    >>> shapes_of(blocks["activation.maxout"])
    'x (…batch, in_features) → (…batch, out_features)'
    """
    signature = inspect.signature(block.forward if isinstance(block, type) else block)  # type: ignore[attr-defined]
    inputs = (f"{p.name} {shape}" for p in signature.parameters.values() if (shape := Shape.of(p.annotation)))
    return f"{', '.join(inputs)} → {', '.join(map(str, _shapes(signature.return_annotation)))}"


def _shapes(annotation: Any) -> Iterator[Shape]:
    """The shapes of a result, which may be several tensors in tuples."""
    if shape := Shape.of(annotation):
        yield shape
    else:
        for member in typing.get_args(annotation):
            yield from _shapes(member)


def _settings_of(block: Callable[..., Any]) -> str:
    """The arguments of the constructor, or those of a function that are no tensors."""
    return ", ".join(
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in settings_of(block).values()
        if Shape.of(p.annotation) is None
    )


def without_docstring(source: str) -> str:
    """Code alone: what the docstring says is shown above it.

    >>> print(without_docstring('def f(x):\\n    \"\"\"Twice.\"\"\"\\n    return 2 * x'))
    def f(x):
        return 2 * x
    """
    source = textwrap.dedent(source).rstrip()
    (node,) = ast.parse(source).body
    assert isinstance(node, (ast.ClassDef, ast.FunctionDef))
    if ast.get_docstring(node) is None:
        return source
    lines, docstring = source.splitlines(), node.body[0]
    after = lines[docstring.end_lineno :]
    while after and not after[0].strip():
        after.pop(0)
    return "\n".join([*lines[: docstring.lineno - 1], *after])
