"""Columns of a table that give the answer away: how well each alone predicts the target, beside all the others."""

import shlex
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gradlab.data.examples import Rows
from gradlab.data.raw import Raw
from gradlab.data.tables.reader import TableReader

Numbers = npt.NDArray[np.float64]

_ROWS, _VALUES = 20_000, 1_000_000  # at most so many are looked at, and fewer rows of a table with many columns
_LEAST = 50  # with fewer rows nothing can be said
_FOLDS = 3
_CLASSES, _EXAMPLES = 50, 10  # the commonest classes, of those with so many examples
_NAMED = 10  # at most
_TOGETHER, _FITTED = 30, 5000  # of the other columns the best, and the rows that their weights are fitted on
_BIN = 12  # rows that neighbouring numbers share, where they predict a class
_BINS = 32  # of a column that is one of many
_PRIOR = 0.25  # how many rows what is known without the column counts for
_COPY = 0.03  # of the uncertainty of a class: what remains is as little as noise leaves of a copy
_LITTLE = 0.13  # of it that may remain, where the others leave far more
_MOST = 0.25  # the same of a column by which nearly all of every class are recognised, or with as few values as classes
_NEARLY_ALL = 0.975
_NUMBER = 0.001  # of the variance of a number: noise of a thirtieth of its spread
_WRONG = 0.05  # of the rows of a number may be anything


@dataclass(frozen=True, kw_only=True)
class Leak:
    """A column that alone predicts the target nearly without error; figures of it and of all the others together."""

    column: str
    target: str
    figure: str
    alone: float
    others: float

    @property
    def note(self) -> str:
        return (
            f"{self.column!r} alone predicts {self.target!r} nearly without error: {self.figure} {self.alone:.3f}, all "
            f"other columns together {self.others:.3f}. Does it give the answer away? Unless it is known before the "
            f"answer is, leave it out: data.drop={shlex.quote(self.column)}"
        )


def find_leaks(raw: Any, rows: Rows) -> list[Leak]:
    """The columns of a table of one's own that look like leaks in these rows; of many rows, in some of them."""
    if not isinstance(raw, Raw) or not isinstance(raw.reader, TableReader) or len(raw.features) < 2:
        return []
    most = min(_ROWS, max(20 * _LEAST, _VALUES // len(raw.features)))
    some = np.random.default_rng(0).permutation(rows)[:most]
    target: _Target = _Number(raw.targets[some]) if raw.classes is None else _Class(raw.targets[some])
    if len(target.kept) < _LEAST:
        return []
    columns = [
        _Column(name, values, name in raw.categorical)
        for name, values in zip(raw.features, raw.inputs[some[target.kept]].T, strict=True)
    ]
    left, suspects = [], []
    for i, column in enumerate(columns):
        predicted = target.alone(column)
        left.append(target.left(predicted))
        if target.suspect(column, left[i], predicted):
            suspects.append(i)
    # A column that is all but the answer must not be what makes another look harmless.
    copies = {i for i in suspects if target.copied(columns[i], left[i])}
    name = next(column.name for column in raw.reader.columns if column.use == "target")
    leaks = []
    for i in sorted(sorted(suspects, key=left.__getitem__)[:_NAMED]):
        beside = sorted((j for j in range(len(left)) if j != i and j not in copies), key=left.__getitem__)[:_TOGETHER]
        together = target.together([target.alone(columns[j], _BINS) for j in beside])
        if min([target.left(together), *(left[j] for j in beside)]) >= target.needed(columns[i], left[i]):
            alone, others = target.figure(target.alone(columns[i])), target.figure(together)
            leaks.append(Leak(column=columns[i].name, target=name, figure=target.named, alone=alone, others=others))
    return leaks


class _Column:
    """Values of an input, in order; NaN is the last of them."""

    def __init__(self, name: str, column: Numbers, is_code: bool):
        self.name, self.is_code, self.column = name, is_code, column
        self.values, self.place, self.counts = np.unique(column, return_inverse=True, return_counts=True)

    def levels(self, size: int) -> npt.NDArray[np.int64]:
        """For each row a number: of categories that of the value; neighbouring numbers share one, up to `size` rows."""
        if self.is_code:
            return self.place
        start = np.cumsum(self.counts) - self.counts
        by_itself = (self.counts >= size) | np.isnan(self.values)
        levels: npt.NDArray[np.int64] = np.unique(2 * (start // size) + by_itself, return_inverse=True)[1][self.place]
        return levels


class _Target(Protocol):
    """What is predicted, always for rows by others than themselves."""

    named: str
    """The figure."""
    kept: npt.NDArray[np.int64]
    """The rows that count."""

    def alone(self, column: _Column, bins: int | None = None) -> Numbers:
        """Predictions by one column; with `bins`, by no more ranges of its numbers than that."""

    def together(self, predicted: list[Numbers]) -> Numbers:
        """Predictions by several."""

    def left(self, predicted: Numbers) -> float:
        """The share of the uncertainty that predictions leave; above 1 where they are worse than none."""

    def figure(self, predicted: Numbers) -> float:
        """How good they are, as people know it."""

    def suspect(self, column: _Column, left: float, predicted: Numbers) -> bool:
        """Whether a column that leaves so little could be a leak."""

    def copied(self, column: _Column, left: float) -> bool:
        """Whether a column that leaves so little is all but the answer."""

    def needed(self, column: _Column, left: float) -> float:
        """How much all the other columns must leave, if one that leaves so little is a leak."""


class _Class:
    r"""Classes, by log likelihood ratios $s_c = \log P(c \mid x) - \log P(c)$."""

    named = "balanced accuracy"

    def __init__(self, targets: npt.NDArray[np.int64]):
        _, members, counts = np.unique(targets, return_inverse=True, return_counts=True)
        common = np.argsort(-counts, kind="stable")[:_CLASSES]
        common = np.sort(common[counts[common] >= _EXAMPLES])
        self.kept = np.flatnonzero(np.isin(members, common) & (len(common) > 1))
        self.y, self.count = np.searchsorted(common, members[self.kept]), len(common)
        self.prior = np.log(np.maximum(np.bincount(self.y, minlength=self.count), 1) / max(1, len(self.y)))
        self.folds = _folds(self.y)

    def alone(self, column: _Column, bins: int | None = None) -> Numbers:
        scores = np.zeros((len(self.y), self.count))
        level = column.levels(_BIN if bins is None else max(_BIN, len(self.y) // bins))
        size = (level.max() + 1) * self.count
        for held, rest in self.folds:
            counts = np.bincount(level[rest] * self.count + self.y[rest], minlength=size).reshape(-1, self.count)
            chances = (counts + _PRIOR * np.exp(self.prior)) / (counts.sum(1, keepdims=True) + _PRIOR)
            scores[held] = np.log(chances)[level[held]] - self.prior
        return scores

    def together(self, predicted: list[Numbers]) -> Numbers:
        """Naive Bayes with a weight for each column, by Newton's method."""
        if not predicted:
            return np.zeros((len(self.y), self.count))
        scores = np.stack(predicted, axis=1)
        every = -(-len(scores) // _FITTED)
        fitted, y = scores[::every], self.y[::every]
        ridge = 0.01 * np.eye(len(predicted))
        weights = np.full(len(predicted), 1 / len(predicted))
        for _ in range(6):
            p = np.exp(self._logs(np.einsum("njc,j->nc", fitted, weights)))
            expected = np.einsum("nc,njc->nj", p, fitted)
            spread = fitted - expected[..., None]
            gradient = (fitted[np.arange(len(y)), :, y] - expected).mean(0) - ridge @ weights
            curvature = np.tensordot(spread * p[:, None], spread, ([0, 2], [0, 2])) / len(y) + ridge
            step = np.linalg.solve(curvature, gradient)
            # The first steps from far away may be too long.
            weights += step / max(1.0, float(np.abs(step).max()))
        together: Numbers = np.einsum("njc,j->nc", scores, weights)
        return together

    def left(self, predicted: Numbers) -> float:
        return float(self._logs(predicted)[np.arange(len(self.y)), self.y].mean() / self.prior[self.y].mean())

    def _logs(self, scores: Numbers) -> Numbers:
        """Logarithms of the probabilities."""
        logits = scores + self.prior
        logits -= logits.max(1, keepdims=True)
        logs: Numbers = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        return logs

    def figure(self, predicted: Numbers) -> float:
        right = predicted.argmax(1) == self.y
        return float((np.bincount(self.y, right) / np.bincount(self.y)).mean())

    def _recoded(self, column: _Column) -> bool:
        """Whether its values could be other names of the classes."""
        return len(column.values) <= self.count

    def suspect(self, column: _Column, left: float, predicted: Numbers) -> bool:
        much = left <= _MOST and (self._recoded(column) or self.figure(predicted) >= _NEARLY_ALL)
        return left <= _LITTLE or much

    def copied(self, column: _Column, left: float) -> bool:
        return left <= _COPY or self._recoded(column)

    def needed(self, column: _Column, left: float) -> float:
        if self._recoded(column):
            return left if left > _COPY else 0.0
        return max(0.3, 2.5 * left)


class _Number:
    """Numbers, by their ranks, which outliers and other units do not change; the worst predictions are not counted."""

    named = "R² of the ranks"

    def __init__(self, targets: npt.NDArray[Any]):
        _, place, counts = np.unique(targets, return_inverse=True, return_counts=True)
        self.y = ((np.cumsum(counts) - counts / 2) / len(targets) - 0.5)[place]
        self.kept = np.arange(len(targets) if len(counts) > 1 else 0)
        self.folds = _folds(self.y)

    def alone(self, column: _Column, bins: int | None = None) -> Numbers:
        predicted = np.zeros(len(self.y))
        level = column.place if bins is None else column.levels(max(1, len(self.y) // bins))
        for held, rest in self.folds:
            counts = np.bincount(level[rest], minlength=level.max() + 1)
            means = np.bincount(level[rest], self.y[rest], len(counts)) / np.maximum(counts, 1)
            predicted[held] = means[level[held]]
            if bins is None and not column.is_code:  # between the nearest numbers that are known
                there = (counts > 0) & ~np.isnan(column.values)
                present = held[~np.isnan(column.column[held])]
                if there.any():
                    predicted[present] = np.interp(column.column[present], column.values[there], means[there])
        return predicted

    def together(self, predicted: list[Numbers]) -> Numbers:
        """The sum of them that comes nearest."""
        columns = np.stack([*predicted, np.ones(len(self.y))], axis=1)
        together: Numbers = columns @ np.linalg.lstsq(columns, self.y, rcond=None)[0]
        return together

    def left(self, predicted: Numbers) -> float:
        errors = np.sort((predicted - self.y) ** 2)[: round((1 - _WRONG) * len(self.y))]
        return float(errors.mean() / self.y.var())

    def figure(self, predicted: Numbers) -> float:
        return float(1 - ((predicted - self.y) ** 2).mean() / self.y.var())

    def suspect(self, column: _Column, left: float, predicted: Numbers) -> bool:
        return left <= _NUMBER

    def copied(self, column: _Column, left: float) -> bool:
        return True

    def needed(self, column: _Column, left: float) -> float:
        return 3 * left


def _folds(y: npt.NDArray[Any]) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Rows that are predicted, and those by which they are: every part has all of the targets in the same shares."""
    part = np.empty(len(y), dtype=np.int64)
    part[np.argsort(y, kind="stable")] = np.arange(len(y)) % _FOLDS
    return [(np.flatnonzero(part == fold), np.flatnonzero(part != fold)) for fold in range(_FOLDS)]
