"""What the columns of a table do for a trained model: how much it needs each, and how its predictions follow one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gradlab.data import Examples, Preprocessing, Raw
from gradlab.data.tables.columns import MISSING_CODE, Column
from gradlab.data.tables.reader import TableReader
from gradlab.errors import GradlabError, unknown
from gradlab.inline import InlineResult, bar_rows, charts, first_rows, line_chart
from gradlab.markup import Html
from gradlab.models.cost import forward_flops
from gradlab.tasks import Classify, evaluate, predict
from gradlab.tasks.ranking import positive_class
from gradlab.wording import counted, name_of, number

if TYPE_CHECKING:
    from gradlab.run.folder import Run

Array = npt.NDArray[Any]

_ROWS, _REPEATS = 2000, 5  # of the importance, where they are affordable
_ENOUGH, _FEWEST = 200, 50  # rows for which permutations are given up, and rows that say anything
_EFFECT_ROWS = 500
_GRID = 25  # values of a column at which its effect is computed
_CATEGORIES = 12
_SECONDS = 3.0  # that an importance or an effect may take, by what a slow core needs for each:
_EVALUATION, _VALUE, _FLOP = 1e-3, 1e-8, 5e-11


@dataclass(frozen=True, kw_only=True, repr=False)
class ColumnImportance(InlineResult):
    """`mean` is how much worse the figure is where the column is permuted, `std` its spread over the permutations.

    `figures` are all figures of the evaluations with the permuted column, averaged.
    """

    name: str
    mean: float
    std: float
    figures: dict[str, float]

    @property
    def _name(self) -> str:
        return self.name

    def _facts(self) -> list[str]:
        return [number(self.mean) if math.isnan(self.std) else f"{number(self.mean)} ± {number(self.std)}"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Importance(InlineResult):
    """The permutation importance of columns, the most important first, on so many `rows` of a split.

    The values of a column are permuted among the rows as they are in the file, which keeps its distribution and breaks
    what it says; then they are preprocessed and evaluated. `figures` are those of the rows as they are. Breiman 2001,
    doi:10.1023/A:1010933404324.
    """

    split: str
    figure: str
    rows: int
    repeats: int
    figures: dict[str, float]
    columns: list[ColumnImportance]

    def _facts(self) -> list[str]:
        first = [f"first {self.columns[0].name}"] if self.columns else []
        return [f"{self.split} {name_of(self.figure)}", counted(len(self.columns), "column"), *first]

    def _content(self) -> list[Html]:
        details = {column.name: column._facts()[0] for column in self.columns}
        head = ["permuted column", f"{name_of(self.figure)} worse by"]
        return [bar_rows(head, {column.name: column.mean for column in self.columns}, details)]


@dataclass(frozen=True, kw_only=True, repr=False)
class Effect(InlineResult):
    """The mean prediction where all examples of a sample have the same value in a column: its partial dependence.

    `values` are numbers, dates as text, or names of categories, and `predictions` have one number for each: of a class
    its probability (of two classes the positive one's alone), or the predicted number, by the name of the target.
    `missing` are the predictions where it is missing, and `seen` the values of the sample. Friedman 2001,
    doi:10.1214/aos/1013203451.
    """

    column: str
    kind: str
    values: list[Any]
    predictions: dict[str, list[float]]
    missing: dict[str, float]
    seen: list[Any]

    @property
    def _name(self) -> str:
        return self.column

    def _facts(self) -> list[str]:
        return [self.kind, counted(len(self.values), "value")]

    def _content(self) -> list[Html]:
        if self.kind == "number":
            curves = {name: (self.values, means) for name, means in self.predictions.items()}
            return [charts(line_chart("mean prediction", curves, x=self.column))]
        means = ([number(mean) for mean in column] for column in self.predictions.values())
        rows = list(zip(map(str, self.values), *means, strict=True))
        return [first_rows([self.column, *self.predictions], rows)]


def columns_of(run: "Run") -> list[str]:
    """The columns of a table that a run was trained on; none where its inputs are something else."""
    preprocessing = run.preprocessing
    return preprocessing.features if isinstance(preprocessing, Preprocessing) and run.task.use == "predict" else []


def held_out(run: "Run") -> str | None:
    """The split that stands for new data: test, or else validation."""
    return next((name for name in ("test", "validation") if run.data["sizes"][name]), None)


def importance_of(run: "Run", columns: Sequence[str] | None = None) -> Importance:
    """How much worse the criterion of the task becomes where one column is permuted."""
    places, task = _places(run), run.task
    chosen = list(places) if columns is None else list(columns)
    for name in chosen:
        if name not in places:
            raise unknown("column", name, list(places))
    rows, repeats = _affordable(run, len(chosen))
    sample = _sample(run, rows)
    examples: Examples = task.encoded(sample.examples)
    # The same for every column: what is said of one does not depend on which others are asked for.
    orders = [np.random.default_rng(i).permutation(len(examples)) for i in range(repeats)]

    def figures(inputs: Array) -> dict[str, float]:
        return evaluate(run.model, task, examples.but(inputs=run.preprocessing(inputs)))

    before = figures(sample.inputs)
    figure = task.criterion.figure if task.criterion.figure in before else "loss"  # of one class nothing is ranked
    sign = -1 if task.higher_is_better(figure) else 1

    def look(name: str) -> ColumnImportance:
        place = places[name]
        after = [figures(_replaced(sample.inputs, place, sample.inputs[order, place])) for order in orders]
        worse = [sign * (permuted[figure] - before[figure]) for permuted in after]
        return ColumnImportance(
            name=name,
            mean=float(np.mean(worse)),
            std=float(np.std(worse, ddof=1)) if repeats > 1 else float("nan"),
            figures={key: float(np.mean([permuted[key] for permuted in after])) for key in before},
        )

    return Importance(
        split=sample.split,
        figure=figure,
        rows=len(examples),
        repeats=repeats,
        figures=before,
        columns=sorted(map(look, chosen), key=lambda column: -column.mean),
    )


def effect_of(run: "Run", column: str) -> Effect:
    """How the mean prediction follows a column."""
    places = _places(run)
    if column not in places:
        raise unknown("column", column, list(places))
    described, place = _described(run.dataset.raw, column), places[column]
    sample = _sample(run, min(_EFFECT_ROWS, max(_FEWEST, int(_SECONDS / _GRID / _row_seconds(run)))))
    known = sample.inputs[:, place][~np.isnan(sample.inputs[:, place])]
    values = _common(known) if described.kind == "category" else _quantiles(known)
    means = [_mean_prediction(run, _replaced(sample.inputs, place, value)) for value in values]
    gaps = len(known) < len(sample.inputs)
    return Effect(
        column=column,
        kind=described.kind,
        values=[_shown(described, float(value)) for value in values],
        predictions={name: [mean[name] for mean in means] for name in (means[0] if means else ())},
        missing=_mean_prediction(run, _replaced(sample.inputs, place, np.nan)) if gaps else {},
        seen=[_shown(described, value) for value in known.tolist()],
    )


class _Sample(NamedTuple):
    split: str
    examples: Examples
    inputs: Array


def _places(run: "Run") -> dict[str, int]:
    names = columns_of(run)
    if not names:
        raise GradlabError(f"{run.path} was not trained on a table with named columns.")
    return {name: i for i, name in enumerate(names)}


def _sample(run: "Run", most: int) -> _Sample:
    """Some held-out examples, and their rows as they are in the file."""
    split = held_out(run)
    if split is None:
        raise GradlabError(f"{run.path} has held out no examples to evaluate on (data.test, data.validation).")
    examples: Examples = run.dataset.split(split).sample(most)
    inputs = np.asarray(run.dataset.raw.inputs[examples.rows])
    return _Sample(split, examples, inputs)


def _affordable(run: "Run", columns: int) -> tuple[int, int]:
    """How many rows, permuted how many times, fit into the time: by what they cost, the same on every machine."""
    time, row = _SECONDS / max(1, columns), _row_seconds(run)
    rows = {repeats: int((time / repeats - _EVALUATION) / row) for repeats in range(1, _REPEATS + 1)}
    if rows[1] < _FEWEST:
        raise GradlabError(
            f"{columns:,} columns are too many to permute each of them in seconds. Name those that matter: "
            "gradlab.load_run(RUN).importance(columns=[...])"
        )
    repeats = max((repeats for repeats in rows if rows[repeats] >= _ENOUGH), default=1)
    return min(_ROWS, rows[repeats]), repeats


def _row_seconds(run: "Run") -> float:
    """What one example costs to be preprocessed and predicted."""
    inputs = _sample(run, 1).inputs
    x: Tensor = run.preprocessing(inputs)
    return _VALUE * max(inputs.size, x.numel()) + _FLOP * forward_flops(run.model, x)


def _replaced(table: Array, place: int, values: Any) -> Array:
    """A copy of a table with other values in a column."""
    other = table.copy()
    other[:, place] = values
    return other


def _mean_prediction(run: "Run", inputs: Array) -> dict[str, float]:
    outputs, task, targets = predict(run.model, run.preprocessing(inputs)), run.task, run.targets
    if isinstance(task, Classify):
        means = task.class_logits(outputs).double().softmax(1).mean(0).tolist()
        columns = [positive_class(targets)] if len(task.classes) == 2 else range(len(task.classes))
        return {task.classes[c]: means[c] for c in columns}
    numbers = torch.tensor([decoded["value"] for decoded in task.decode(outputs)], dtype=torch.float64)
    means = numbers.reshape(len(numbers), -1).mean(0).tolist()
    name = run.recipe.data.values.get("target", "target")
    return {name: means[0]} if len(means) == 1 else {f"{name} {i}": mean for i, mean in enumerate(means)}


def _quantiles(known: Array) -> list[np.generic]:
    """Values that occur, as many in each part of the column as it has examples; the rarest ends are left out.

    They keep the type of the column: no float has all 64-bit integers.
    """
    distinct = np.unique(known)
    if len(distinct) > _GRID:
        distinct = np.unique(np.quantile(known, np.linspace(0.01, 0.99, _GRID), method="nearest"))
    return list(distinct)


def _common(codes: Array) -> list[np.generic]:
    """The most frequent categories first."""
    distinct, counts = np.unique(codes, return_counts=True)
    return list(distinct[np.argsort(-counts, kind="stable")][:_CATEGORIES])


def _described(raw: Raw, name: str) -> Column:
    if isinstance(raw.reader, TableReader):
        return next(column for column in raw.reader.inputs if column.name == name)
    return Column(name=name, kind="number")


def _shown(column: Column, value: float) -> Any:
    """A value as it is in the file."""
    if column.kind == "date":
        return (datetime(1970, 1, 1) + timedelta(days=value)).isoformat(sep=" ", timespec="minutes")
    if column.kind == "category":
        return "missing" if value == MISSING_CODE else column.values[int(value)]
    return value
