"""Trainings that differ by chance alone: the mean of their figures, and how far they spread about it."""

import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from gradlab.files.formats import Figures
from gradlab.markup import Html
from gradlab.studies.inline import figure_rows
from gradlab.studies.members import Member
from gradlab.wording import counted, name_of, number


@dataclass(frozen=True, kw_only=True)
class Spread:
    r"""Mean, sample standard deviation $s$ and standard error $s / \sqrt k$ of k figures; one figure has only a mean.

    >>> Spread.of([1.0, 2.0, 3.0])
    Spread(mean=2.0, std=1.0, standard_error=0.5773502691896258)
    """

    mean: float
    std: float | None
    standard_error: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        mean = statistics.fmean(values)
        if len(values) < 2:
            return cls(mean=mean, std=None, standard_error=None)
        std = statistics.stdev(values)
        return cls(mean=mean, std=std, standard_error=std / math.sqrt(len(values)))

    @property
    def words(self) -> str:
        return number(self.mean) if self.std is None else f"{number(self.mean)} ± {number(self.std)}"


def spreads(figures: Sequence[Figures]) -> dict[str, Spread]:
    """The spread of each figure over several trainings; one that some training does not define is left out."""
    names = figures[0] if figures else {}
    return {n: Spread.of([f[n] for f in figures]) for n in names if all(n in f for f in figures)}


@dataclass(frozen=True, kw_only=True, repr=False)
class Repeated(ABC):
    """One recipe trained several times and judged in the same way. Figures are of the trainings that came to an end."""

    noun: ClassVar[str]
    """What one of the trainings is called."""

    recipe: str
    path: Path
    members: list[Member]
    higher: dict[str, bool]
    """For each metric, whether higher is better."""

    def _facts(self) -> list[str]:
        figures = [f"{self.split} {name_of(name)} {self.spread[name].words}" for name in self.names[:1]]
        return [self.recipe, counted(len(self.members), self.noun), *figures]

    def _content(self) -> list[Html]:
        spreads = [(name, self.spread[name].words, self.baseline.get(name)) for name in self.names]
        each = [
            (f"{self.noun} {number}", *(member.figures(self.split).get(name) for name in self.names))
            for number, member in zip(self.numbers, self.members, strict=True)
        ]
        means = figure_rows([self.split, "mean ± standard deviation", self.baseline_name or "baseline"], spreads)
        return [means, figure_rows(["", *self.names], each)]

    @property
    @abstractmethod
    def numbers(self) -> list[int]:
        """What each training is called by, after the noun."""

    @property
    def finished(self) -> list[Member]:
        """The trainings that came to an end."""
        return [member for member in self.members if not member.diverged]

    @property
    def split(self) -> str:
        """Where they are judged: on the test split, or on the validation split where there is none."""
        return "test" if self.finished[0].test else "validation"

    @property
    def spread(self) -> dict[str, Spread]:
        return spreads([member.figures(self.split) for member in self.finished])

    @property
    def names(self) -> list[str]:
        """The figures in the order in which they are shown: the most telling metric first, and the loss last."""
        return [name for name in (*self.higher, "loss") if name in self.spread]

    @property
    def baseline(self) -> Figures:
        """The mean of the trivial predictor's figures."""
        figures = [member.baseline_figures(self.split) for member in self.finished]
        return {n: statistics.fmean(f[n] for f in figures) for n in self.spread if all(n in f for f in figures)}

    @property
    def baseline_name(self) -> str:
        name: str = self.finished[0].baseline.get("name", "")
        return name

    def spread_to_json(self) -> dict[str, dict[str, Any]]:
        return {name: asdict(spread) for name, spread in self.spread.items()}

    def baseline_to_json(self) -> dict[str, Any]:
        return {"name": self.baseline_name, **self.baseline} if self.baseline else {}
