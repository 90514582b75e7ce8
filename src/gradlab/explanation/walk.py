"""Worked examples: walked through step by step, with the values that the library computes on the way.

@worked("multiply-gate", "A gate that multiplies, and its two derivatives")
def multiply_gate() -> list[Step]: ...
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from gradlab.explanation.block import SourceCode
from gradlab.explanation.equations import sentence, terminal
from gradlab.verification.course import EXAMPLES


@dataclass(frozen=True)
class Step:
    """What is done, the equation of it, and what comes out, as text."""

    words: str
    latex: str = ""
    values: str = ""

    @property
    def in_characters(self) -> str:
        """The equation for a terminal, if there is one."""
        return terminal(self.latex) if self.latex else ""


def rows(values: Tensor, digits: int = 4) -> str:
    """A matrix as the values of a step: numbers to so many digits, one below the other.

    >>> print(rows(Tensor([[1.0, -0.5], [10.0, 0.0]])))
     1  -0.5
    10     0
    """
    cells = [[f"{x:.{digits}g}" for x in row] for row in (values + 0.0).tolist()]  # no -0
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells)


def matrix(values: Tensor) -> str:
    r"""The same in LaTeX.

    >>> matrix(Tensor([[1, 0], [0, 1]]))
    '\\begin{pmatrix} 1 & 0 \\\\ 0 & 1 \\end{pmatrix}'
    """
    body = r" \\ ".join(" & ".join(f"{x:g}" for x in row) for row in values.tolist())
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


Steps = Callable[[], list[Step]]

_entered: dict[str, tuple[str, Steps]] = {}


def worked(name: str, title: str) -> Callable[[Steps], Steps]:
    """Enter an example of the course."""
    assert name in EXAMPLES, f"{name!r} is no example of the course"

    def enter(steps: Steps) -> Steps:
        assert name not in _entered, f"two examples {name!r}"
        _entered[name] = title, steps
        return steps

    return enter


def walks() -> dict[str, tuple[str, Steps]]:
    """All of them, in the order of the course."""
    from gradlab.explanation import examples  # noqa: F401, which enter themselves

    return {name: _entered[name] for name in EXAMPLES if name in _entered}


@dataclass(frozen=True)
class Walk:
    """An example with its steps done."""

    name: str
    title: str
    steps: list[Step]
    code: SourceCode
    """Of the function that computes them."""

    @classmethod
    def of(cls, name: str) -> "Walk":
        title, steps = walks()[name]
        return cls(name, title, steps(), SourceCode.of(steps))

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        shown = [{**asdict(s), "words": sentence(s.words), "unicode": s.in_characters} for s in self.steps]
        return {"name": self.name, "title": self.title, "steps": shown, "code": asdict(self.code)}
