"""A block's docstring, taken apart: what it says is said once, in the code."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Equation:
    latex: str


@dataclass(frozen=True)
class Docstring:
    """One sentence; then paragraphs and equations in their order; what a call costs; and an example to run."""

    summary: str
    body: list[Equation | str]
    cost: dict[str, str]
    example: str

    @classmethod
    def of(cls, block: Callable[..., Any]) -> "Docstring":
        r"""Paragraphs are divided by empty lines; the first is the summary.

        >>> def double(x): r'''Twice.
        ...
        ...     $$ 2x $$
        ...
        ...     FLOPs: O(n)
        ...     Memory: 0
        ...     '''
        >>> doc = Docstring.of(double)
        >>> doc.summary, doc.body, doc.cost
        ('Twice.', [Equation(latex='2x')], {'FLOPs': 'O(n)', 'Memory': '0'})
        """
        summary, *paragraphs = (inspect.getdoc(block) or "").split("\n\n")
        body: list[Equation | str] = []
        cost: dict[str, str] = {}
        examples = []
        for paragraph in paragraphs:
            words = " ".join(paragraph.split())
            if paragraph.startswith(">>>"):
                examples.append(paragraph)
            elif words.startswith("$$"):
                body.append(Equation(words.strip("$").strip()))
            elif costs := dict(re.findall(r"^(FLOPs|Memory): (.+)$", paragraph, re.MULTILINE)):
                cost = {key: text.strip() for key, text in costs.items()}
            elif cost and words.startswith("with "):
                cost["Letters"] = words.rstrip(".")
            elif words:
                body.append(words)
        return cls(" ".join(summary.split()), body, cost, "\n\n".join(examples))

    @property
    def equations(self) -> list[str]:
        return [part.latex for part in self.body if isinstance(part, Equation)]
