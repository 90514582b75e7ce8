"""What a source holds, in figures: before anything is split, scaled or trained."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradlab.data.moments import Moments
from gradlab.data.raw import Raw, parts
from gradlab.data.tables.columns import MISSING_CODE
from gradlab.data.tables.leaks import find_leaks
from gradlab.data.tables.reader import TableReader
from gradlab.wording import date, quantity


@dataclass(frozen=True, kw_only=True)
class Feature:
    """One input of a table, or one channel of images. Dates are days since 1970."""

    name: str
    kind: str
    low: float
    mean: float
    std: float
    high: float
    missing: int
    categories: int | None = None

    @property
    def ends(self) -> list[str]:
        """Least, mean and most, as people read them; of categories there are none."""
        if self.categories is not None:
            return ["", "", ""]
        if self.kind == "date":
            whole_days = self.low.is_integer() and self.high.is_integer()
            return [*map(date, (self.low, round(self.mean) if whole_days else self.mean, self.high))]
        return [*map(quantity, (self.low, self.mean, self.high))]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Sizes, classes, ranges and missing values of a source."""

    examples: int
    shape: list[int]
    dtype: str
    splits: dict[str, int]
    classes: dict[str, int]
    target: Feature | None
    features: list[Feature]
    notes: list[str]

    @classmethod
    def of(cls, raw: Raw) -> "Overview":
        counts = np.bincount(raw.targets, minlength=len(raw.classes)).tolist() if raw.classes is not None else []
        return cls(
            examples=len(raw.inputs),
            shape=list(raw.inputs.shape[1:]),
            dtype=str(raw.inputs.dtype),
            splits=_splits(raw),
            classes=dict(zip(raw.classes or [], counts, strict=True)),
            target=feature_list(raw.targets.reshape(len(raw.targets), -1)[:, :1], [_target_name(raw)], {})[0]
            if raw.classes is None
            else None,
            features=feature_list(raw.inputs, _names(raw), _categories(raw), _dates(raw)),
            notes=[*raw.notes, *(leak.note for leak in find_leaks(raw, np.arange(len(raw.targets))))],
        )


def _splits(raw: Raw) -> dict[str, int]:
    """The splits that the source brings itself."""
    test = len(raw.inputs) if raw.test_from is None else raw.test_from
    validation = test if raw.validation_from is None else raw.validation_from
    sizes = {"train": validation, "validation": test - validation, "test": len(raw.inputs) - test}
    return {name: size for name, size in sizes.items() if size} if len({test, validation, len(raw.inputs)}) > 1 else {}


def _target_name(raw: Raw) -> str:
    columns = raw.reader.columns if isinstance(raw.reader, TableReader) else []
    return next((c.name for c in columns if c.use == "target"), "target")


def _names(raw: Raw) -> list[str]:
    if raw.features:
        return raw.features
    several = {1: ["grey"], 3: ["red", "green", "blue"]} if raw.inputs.ndim == 4 else {}
    return several.get(raw.inputs.shape[1], [str(i) for i in range(raw.inputs.shape[1])])


def _categories(raw: Raw) -> dict[str, int]:
    known = {c.name: len(c.values) for c in raw.reader.inputs} if isinstance(raw.reader, TableReader) else {}
    return {name: known.get(name, 0) for name in raw.categorical}


def _dates(raw: Raw) -> set[str]:
    return {c.name for c in raw.reader.inputs if c.kind == "date"} if isinstance(raw.reader, TableReader) else set()


def feature_list(
    values: Any, names: list[str], categories: dict[str, int], dates: Collection[str] = ()
) -> list[Feature]:
    moments = Moments()
    unknown = np.zeros(len(names), dtype=np.int64)
    for _, chunk in parts(values):
        moments.add(chunk)
        for i, name in enumerate(names):
            if name in categories:
                unknown[i] += int((chunk[:, i] == MISSING_CODE).sum())
    return [
        Feature(
            name=name,
            kind="category" if name in categories else "date" if name in dates else "number",
            low=float(moments.low[i]),
            mean=float(moments.mean[i]),
            std=float(moments.std[i]),
            high=float(moments.high[i]),
            missing=int(unknown[i] if name in categories else moments.gaps[i] if len(moments.gaps) else 0),
            categories=categories.get(name),
        )
        for i, name in enumerate(names)
    ]
