"""Figures and logs as they are returned: a dictionary and a list, which a notebook shows as a table and as curves."""

from collections.abc import Mapping
from typing import Any

from gradlab.inline import TRAIN, VALIDATION, InlineResult, Points, charts, figures_table, inline, line_chart
from gradlab.markup import Html
from gradlab.wording import counted, name_of, number

_NO_FIGURES = ("step", "epoch", "split", "seconds")  # of a line
_SHOWN = 2  # figures of a short repr


class Metrics(dict[str, float]):
    """Figures by name.

    >>> Metrics(loss=0.25)
    {'loss': 0.25}
    """

    def _repr_html_(self) -> str:
        return inline("", "", figures_table({"": self}))


class BaselineFigures(dict[str, dict[str, float]]):
    """Figures of several predictors, by their names."""

    def _repr_html_(self) -> str:
        return inline("", "", figures_table(self))


class TrainingLog(list[dict[str, Any]], InlineResult):
    """The lines of a metrics log.

    >>> TrainingLog([{"step": 10, "split": "train", "loss": 0.5}])
    TrainingLog(1 line, up to step 10, loss 0.5000)
    """

    __repr__ = InlineResult.__repr__

    def _facts(self) -> list[str]:
        place = [f"up to step {self[-1]['step']:,}"] if self else []
        return [counted(len(self), "line"), *place, *short_figures(_figures(self[-1]) if self else {})]

    def _content(self) -> list[Html]:
        last = {line["split"]: _figures(line) for line in self if line["split"] != "request"}
        return [self.charts(), figures_table(last)]

    def charts(self) -> Html:
        """The loss, and the first other figure of the validation split."""
        evaluated = next((line for line in reversed(self) if line["split"] == "validation"), {})
        others = [name for name in _figures(evaluated) if name != "loss"]
        return charts(self._chart("loss", "train"), *(self._chart(name, "train-sample") for name in others[:1]))

    def _chart(self, figure: str, train: str) -> Html:
        curves = {split: self.curve(figure, split) for split in (train, "validation")}
        return line_chart(name_of(figure), curves, colors=(TRAIN, VALIDATION))

    def curve(self, figure: str, split: str) -> Points:
        """The steps at which a figure of a split was logged, and its values."""
        lines = [line for line in self if line["split"] == split and figure in line]
        return [line["step"] for line in lines], [line[figure] for line in lines]


def _figures(line: Mapping[str, Any]) -> dict[str, float]:
    """Without nested ones, such as the update of each layer."""
    return {name: value for name, value in line.items() if name not in _NO_FIGURES and isinstance(value, int | float)}


def short_figures(figures: Mapping[str, float], split: str = "") -> list[str]:
    """The first figures in words.

    >>> short_figures({"loss": 0.25, "accuracy": 0.9, "f1": 0.8}, "test")
    ['test loss 0.2500', 'test accuracy 0.9000']
    """
    return [f"{split} {name_of(name)} {number(value)}".strip() for name, value in list(figures.items())[:_SHOWN]]
