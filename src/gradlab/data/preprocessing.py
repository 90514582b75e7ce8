"""From raw inputs to what a model is fed: fitted on the training split alone, saved in the run."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gradlab import specs
from gradlab.data.dates import date_parts, parts_of, width
from gradlab.data.moments import Moments
from gradlab.data.preparation import Preparation
from gradlab.data.raw import Targets, check_finite
from gradlab.errors import GradlabError, unknown
from gradlab.files import check_content, interpreting
from gradlab.printable import listed

Method = Literal["standardise", "scale", "none"]
Array = npt.NDArray[Any]

_CHUNK = 2**23  # bytes of raw inputs that are looked at together


@dataclass(frozen=True, kw_only=True)
class Preprocessing(Preparation):
    r"""$x' = (x - \text{shift}) / \text{scale}$ column by column, and one-hot codes for columns of categories.

    `standardise` takes the training mean and standard deviation, `scale` the training minimum and range; images have
    one pair per channel, tables one per column. A constant column has scale 1. Of columns in `logs` x is the logarithm
    of what the table has, so that a linear model counts factors there and not differences. Missing numbers (NaN) are
    filled with the training mean, and a column says so for each column that had some in training. A date is a number,
    of days, and has further columns for its parts. A category that training did not have has no code: its columns are
    all zero.

    Columns with many categories are not one-hot but `embedded`: they come last, as whole numbers, for which the model
    learns vectors. 0 stands for a category that training did not have, or only once.

    >>> table = np.array([[0.0, 7.0], [2.0, 8.0]])
    >>> Preprocessing.fit(table, "standardise", ["size", "kind"], one_hot=["kind"])(table).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    shape: list[int]
    features: list[str] = field(default_factory=list)
    method: Method = "none"
    shift: list[float] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    categories: dict[str, list[float]] = field(default_factory=dict)
    fill: list[float] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    dates: dict[str, list[str]] = field(default_factory=dict)
    embedded: dict[str, list[float]] = field(default_factory=dict)
    logs: list[str] = field(default_factory=list)

    kind: ClassVar[str] = "arrays"

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    def words(self) -> dict[str, str]:
        logs = {"logarithm of": listed(self.logs)} if self.logs else {}
        return {"shape of an input": " × ".join(map(str, self.shape)), **logs, "preprocessing": self.method}

    @classmethod
    def read_back(
        cls, described: dict[str, Any], targets: dict[str, Any], read: Callable[[str], str]
    ) -> "Preprocessing":
        preprocessing = check_content(described, cls, "data.json (inputs)")
        with interpreting("data.json (inputs)"):
            preprocessing(np.ones((1, *preprocessing.shape)))  # whose parts may not fit each other
            if not all(scale > 0 for scale in preprocessing.scale):
                raise ValueError("a scale is not positive")
        return preprocessing

    @classmethod
    def fit(
        cls,
        inputs: Array,
        method: Method,
        features: list[str],
        one_hot: list[str],
        *,
        rows: npt.NDArray[np.int64] | None = None,
        weights: npt.NDArray[np.float64] | None = None,
        levels: int | None = None,
        missing: bool = False,
        dates: Sequence[str] = (),
        logs: Sequence[str] = (),
    ) -> "Preprocessing":
        """Fit on `rows` of the inputs (default all), each with its weight, without a copy of them all in memory.

        Columns with more than `levels` categories are embedded. With `missing`, NaN is a number that is not known;
        otherwise it is refused when it is met. Columns in `logs` must be positive in all rows.
        """
        place, codes = {name: i for i, name in enumerate(features)}, set(one_hot)
        for column in (*one_hot, *logs):
            if column not in place:
                raise unknown("column", column, features)
        for column in logs:
            if column in codes or column in dates:
                kind = "categories" if column in codes else "dates"
                raise GradlabError(f"data.log={column}: the column {column!r} has {kind}, which have no logarithm.")
        logged = [place[column] for column in dict.fromkeys(logs)]
        check_positive(inputs, logged, features)
        numeric = [i for i, name in enumerate(features) if name not in codes]
        moments, counts = Moments(), {c: Counter[float]() for c in one_hot}
        with_time = set[str]()
        for chunk, weight in _chunks(inputs, rows, weights):
            for column, counter in counts.items():
                values, times = np.unique(chunk[:, place[column]], return_counts=True)
                counter.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
            with_time |= {c for c in dates if (chunk[:, place[c]] % 1.0 > 0).any()}
            chunk = _with_logarithms(chunk, logged)
            moments.add(chunk[:, numeric] if counts else chunk, weight)
        if method == "standardise":
            shift, scale = moments.mean, moments.std
        else:
            shift, scale = np.nan_to_num(moments.low), moments.high - moments.low  # NaN: nothing in training
        # By its ends: the deviation of a constant column is not exactly zero in floating point.
        scale = np.where(moments.low < moments.high, scale, 1.0)
        names = [features[i] for i in numeric] if features else []
        many = {c for c, counter in counts.items() if levels is not None and len(counter) > levels}
        return cls(
            shape=list(inputs.shape[1:]),
            features=features,
            method=method,
            shift=shift.tolist() if method != "none" else [],
            scale=scale.tolist() if method != "none" else [],
            categories={c: sorted(counter) for c, counter in counts.items() if c not in many},
            embedded={c: sorted(v for v, times in counts[c].items() if times > 1) for c in one_hot if c in many},
            dates={c: parts_of(c in with_time) for c in dates},
            fill=moments.mean.tolist() if missing else [],
            missing=[name for name, gaps in zip(names, moments.gaps, strict=True) if gaps] if missing else [],
            logs=[features[i] for i in logged],
        )

    @staticmethod
    def taken_over(
        origin: Preparation,
        inputs: Array,
        method: Method,
        features: list[str],
        one_hot: list[str],
        logs: Sequence[str] = (),
    ) -> "Preprocessing":
        """That of a model's training, for other inputs that it is to read: pictures may be of another size."""
        if not isinstance(origin, Preprocessing) or len(origin.shape) != inputs.ndim - 1:
            raise GradlabError(
                f"train.from_run was trained on {origin.spec}, and these inputs have shape {inputs.shape[1:]}. "
                "Take another run."
            )
        if origin.shape[0] != inputs.shape[1] or origin.features != features:
            what = "columns" if len(origin.shape) == 1 else "channels"
            differ = next((f", not all the same: {name!r}" for name in sorted({*origin.features} ^ {*features})), "")
            raise GradlabError(
                f"train.from_run was trained on inputs of {origin.shape[0]} {what}, and these have {inputs.shape[1]}"
                f"{differ}. Take another run."
            )
        if origin.method != method:
            raise GradlabError(
                f"train.from_run was trained with data.preprocess={origin.method}, in which its weights expect their "
                f"inputs. Set data.preprocess={origin.method}."
            )
        if sorted(origin.logs) != sorted(set(logs)):
            raise GradlabError(
                f"train.from_run was trained on the logarithm of these columns: {listed(origin.logs)}. Here they are: "
                f"{listed(logs)}. See data.log."
            )
        coded = [*origin.categories, *origin.embedded]
        if sorted(coded) != sorted(one_hot):
            raise GradlabError(
                f"train.from_run was trained with these columns as categories: {listed(coded)}. Here they are: "
                f"{listed(one_hot)}. See data.one_hot."
            )
        return replace(origin, shape=list(inputs.shape[1:]))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.features)}

    @property
    def numeric(self) -> list[int]:
        """Which columns of a table are numbers."""
        return [i for i, f in enumerate(self.features) if f not in self.categories and f not in self.embedded]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of one example as the model sees it."""
        extra = sum(map(len, self.categories.values())) + sum(map(width, self.dates.values())) + len(self.missing)
        if not extra and not self.embedded:
            return tuple(self.shape)
        return (self.shape[0] - len(self.categories) + extra,)

    @property
    def embedded_sizes(self) -> tuple[int, ...]:
        """How many numbers each of the last columns may have."""
        return tuple(len(known) + 1 for known in self.embedded.values())

    @property
    def spec(self) -> specs.Array:
        """What one example is, as the model sees it."""
        if self.embedded:
            return specs.Table(self.output_shape[0], self.embedded_sizes)
        return specs.Array.of(self.output_shape)

    def __call__(self, raw: Array, dtype: torch.dtype = torch.float32) -> Tensor:
        """Raw inputs, one row per example, as a tensor for the model."""
        if list(raw.shape[1:]) != self.shape:
            raise GradlabError(
                f"Each input must have shape {tuple(self.shape)}, got {tuple(raw.shape[1:])} "
                f"(the whole input has shape {tuple(raw.shape)}, examples first)."
            )
        check_finite(raw, self.features, missing=bool(self.fill))
        logged = [self._place[c] for c in self.logs]
        check_positive(raw, logged, self.features)
        raw = _with_logarithms(raw, logged)
        extra = [_one_hot(raw[:, self._place[c]], known) for c, known in self.categories.items()]
        extra += [np.isnan(raw[:, self._place[c]])[:, None] for c in self.missing]
        extra += [date_parts(raw[:, self._place[c]], parts) for c, parts in self.dates.items()]
        extra += [_numbered(raw[:, self._place[c]], known)[:, None] for c, known in self.embedded.items()]
        if self.categories or self.embedded:
            raw = raw[:, self.numeric]
        # Wide numbers are shifted in float64, where a column far from zero keeps its digits; pixels need no more.
        values: npt.NDArray[np.floating[Any]] = raw.astype(
            np.float32 if raw.dtype.itemsize <= 2 or raw.dtype == np.float32 else np.float64
        )
        if self.fill:
            values = np.where(np.isnan(values), np.array(self.fill, values.dtype), values)
        if self.method != "none":
            broadcast = (1, -1) + (1,) * (values.ndim - 2)
            values -= np.array(self.shift, values.dtype).reshape(broadcast)
            values /= np.array(self.scale, values.dtype).reshape(broadcast)
        x = torch.from_numpy(values).to(dtype)
        return torch.cat([x, *(torch.from_numpy(e).to(dtype) for e in extra)], dim=1) if extra else x

    def inverse(self, x: Tensor) -> Array:
        """Raw inputs of what a model has drawn; not of tables whose columns became several."""
        assert self.drawable, "tasks that draw refuse such tables"
        values: Array = x.detach().cpu().double().numpy().copy()
        if self.method != "none":
            broadcast = (1, -1) + (1,) * (values.ndim - 2)
            values *= np.array(self.scale).reshape(broadcast)
            values += np.array(self.shift).reshape(broadcast)
        logged = [self._place[c] for c in self.logs]
        values[:, logged] = np.exp(values[:, logged])
        return values

    @property
    def drawable(self) -> bool:
        """Whether each number that a model sees is one of an example, and so tells it."""
        return not (self.categories or self.embedded or self.missing or self.dates)

    @property
    def log_scale(self) -> float | None:
        """The log of how much larger a volume is in raw units: what a log-density of prepared inputs has too much.

        Where logarithms are taken it is another one for each example.
        """
        if self.logs:
            return None
        return float(np.log(self.scale).sum()) * math.prod(self.shape[1:]) if self.method != "none" else 0.0

    def complete(self, targets: Targets) -> Targets:
        return replace(targets, log_scale=self.log_scale, drawable=self.drawable)

    def check_known(self, raw: Array, columns: list[str]) -> None:
        """Refuse categories that training did not have, in columns whose categories are plain numbers."""
        for name in columns:
            known = self.categories[name]
            for row, value in enumerate(raw[:, self._place[name]].tolist()):
                if value not in known:
                    raise GradlabError(
                        f"Row {row}, column {name!r}: {value:g} is not among the training values {np.array(known)}."
                    )


def check_positive(raw: Array, columns: Sequence[int], features: list[str]) -> None:
    """Refuse what has no logarithm, by row and column; what is missing may be."""
    for i in columns:
        (bad,) = np.nonzero(raw[:, i] <= 0)
        if len(bad):
            others = f" ({len(bad) - 1} more like it)" if len(bad) > 1 else ""
            raise GradlabError(
                f"The data hold {raw[bad[0], i]:g} in row {bad[0]}, column {features[i]!r}{others}, which has no "
                f"logarithm; rows count from 0. Leave {features[i]} out of data.log, or make its numbers positive."
            )


def _with_logarithms(raw: Array, columns: Sequence[int]) -> Array:
    if not len(columns):
        return raw
    raw = raw.astype(np.float64)
    raw[:, columns] = np.log(raw[:, columns])
    return raw


def _one_hot(column: Array, known: list[float]) -> Array:
    codes: Array = column[:, None] == np.array(known)
    return codes


def _numbered(column: Array, known: list[float]) -> Array:
    """The place of each value among those that are known, from 1; 0 for others."""
    if not known:
        return np.zeros(len(column))
    place = np.minimum(np.searchsorted(known, column), len(known) - 1)
    return np.where(np.asarray(known)[place] == column, place + 1.0, 0.0)


def _chunks(inputs: Array, rows: Array | None, weights: Array | None) -> Iterator[tuple[Array, Array | None]]:
    count = len(inputs) if rows is None else len(rows)
    size = max(1, _CHUNK // max(1, inputs.dtype.itemsize * int(np.prod(inputs.shape[1:], dtype=np.int64))))
    for start in range(0, count, size):
        part = slice(start, start + size)
        yield inputs[part] if rows is None else inputs[rows[part]], None if weights is None else weights[part]
