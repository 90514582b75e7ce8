"""A block's docstring, taken apart: what it says is said once, in the code."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Equation:
    latex: str


@dataclass(frozen=True)
class Docstring:
    """One sentence; then paragraphs and equations in their order; and an example to run."""

    summary: str
    body: list[Equation | str]
    example: str

    @classmethod
    def of(cls, block: Callable[..., Any]) -> "Docstring":
        r"""Paragraphs are divided by empty lines; the first is the summary.

        >>> def double(x): r'''Twice.
        ...
        ...     $$ 2x $$
        ...     '''
        >>> doc = Docstring.of(double)
        >>> doc.summary, doc.body
        ('Twice.', [Equation(latex='2x')])
        """
        summary, *paragraphs = (inspect.getdoc(block) or "").split("\n\n")
        body: list[Equation | str] = []
        examples = []
        for paragraph in paragraphs:
            words = " ".join(paragraph.split())
            if paragraph.startswith(">>>"):
                examples.append(paragraph)
            elif words.startswith("$$"):
                body.append(Equation(words.strip("$").strip()))
            elif words:
                body.append(words)
        return cls(" ".join(summary.split()), body, "\n\n".join(examples))

    @property
    def equations(self) -> list[str]:
        return [part.latex for part in self.body if isinstance(part, Equation)]
