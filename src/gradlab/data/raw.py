"""What a source returns: all examples, as they are in the world."""

import hashlib
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.data.array_file import check_array, native
from gradlab.errors import GradlabError, unknown

if TYPE_CHECKING:
    from gradlab.data.reading import Reader

Wants = str
"""What a task can learn from: classes, numbers, tokens, masked, series, or a kind that data of one's own know of."""


class UnsuitableData(GradlabError):
    """A task cannot learn from data of this kind; the message goes on from the name of the data."""


_CHUNK = 2**21  # values that are looked at together: a file may be larger than memory
# Different numbers that may be taken for classes: always a few, more where each occurs twice, but not any number.
_FEW_CLASSES, _MOST_CLASSES = 20, 1000


@dataclass(frozen=True, kw_only=True)
class Raw:
    """Examples before any split or preprocessing.

    `inputs` is (examples, features) for tables, (examples, channels, height, width) for images, and an array of
    documents for texts; it may be a memory-mapped file. `targets` holds class indices where `classes` names them,
    otherwise numbers. Rows from `validation_from` and `test_from` on are the source's own splits. `categorical` names
    the features that are codes of categories, `dates` those that are days since 1970; with `missing`, NaN in an input
    stands for a value that is not known. Examples with equal `groups` belong together, and never go to different
    splits. With `times`, the later examples are held out. `notes` are what the user should know of what was read.
    `whole` is what it is a choice of classes from: targets of other classes are -1. What is not `labelled` has zeros
    for targets, from which no task can learn.
    """

    inputs: npt.NDArray[Any]
    targets: npt.NDArray[Any]
    features: list[str] = field(default_factory=list)
    classes: list[str] | None = None
    validation_from: int | None = None
    test_from: int | None = None
    categorical: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    missing: bool = False
    groups: npt.NDArray[np.int64] | None = None
    times: npt.NDArray[np.float64] | None = None
    notes: list[str] = field(default_factory=list)
    reader: "Reader | None" = None
    key: str = ""
    whole: "Raw | None" = None
    labelled: bool = True

    def __post_init__(self) -> None:
        for name in ("inputs", "targets"):
            if not isinstance(getattr(self, name), np.ndarray):
                kind = type(getattr(self, name)).__name__
                raise GradlabError(f"The {name} of a Raw must be a NumPy array, got a {kind}: np.asarray.")
        self._check_inputs()
        object.__setattr__(self, "inputs", _plain_numbers(self.inputs))
        check_array("An array of targets", self.targets.shape, self.targets.dtype)
        object.__setattr__(self, "targets", native(self.targets))
        if len(self.inputs) != len(self.targets):
            raise GradlabError(f"There are {len(self.inputs)} inputs but {len(self.targets)} targets.")
        splits = [0, self.validation_from, self.test_from, len(self.inputs)]
        if (ordered := [start for start in splits if start is not None]) != sorted(ordered):
            raise GradlabError(
                f"The splits of a source begin in the order training, validation, test, within its {len(self.inputs)} "
                f"examples; got validation_from={self.validation_from} and test_from={self.test_from}."
            )
        for name in ("groups", "times"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.inputs):
                raise GradlabError(f"There are {len(self.inputs)} inputs but {len(values)} {name}.")
        if self.times is not None and self.groups is not None:
            raise GradlabError("Examples are divided by groups or by times, not by both.")
        if self.features and len(self.features) != self.inputs.shape[1]:
            raise GradlabError(f"There are {len(self.features)} names of features for inputs of {self.inputs.shape}.")
        if self.classes is not None:
            _check_classes(self.targets, self.classes)
        check_finite(self.inputs, self.features, self.missing)
        check_finite(self.targets, ["target"])

    def _check_inputs(self) -> None:
        check_array("An array of inputs", self.inputs.shape, self.inputs.dtype)
        if self.inputs.ndim < 2:
            raise GradlabError(
                f"Inputs must have an axis for the examples and one for their values, got shape {self.inputs.shape}. "
                "For one value each: inputs[:, None]."
            )

    def fingerprint(self) -> str:
        """SHA-256 over every value, so that a resumed run can tell that its data are the same; or the source's own."""
        if self.whole is not None:
            return self.whole.fingerprint()
        if self.key:
            return self.key
        digest = hashlib.sha256()
        for array in (self.inputs, self.targets):
            digest.update(str((array.dtype, array.shape)).encode())
            for _, part in parts(array):
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    @property
    def own_table(self) -> bool:
        """Whether it is a table of the user's own."""
        return getattr(self.reader, "kind", "") == "table"

    def noted(self, notes: Sequence[str]) -> "Raw":
        """The same examples with more that a user should know: a copy, since a new Raw looks at every value again."""
        raw = copy(self)
        object.__setattr__(raw, "notes", [*self.notes, *notes])
        return raw

    def of_classes(self, names: Sequence[str] | None) -> "Raw":
        """The same examples, of which those of some classes alone go to the splits; default all."""
        if names is None:
            return self
        if self.classes is None:
            raise GradlabError("data.classes chooses among classes, but the targets are numbers. Leave it out.")
        for name in names:
            if name not in self.classes:
                raise unknown("class", name, self.classes)
        kept = [name for name in self.classes if name in set(names)]
        if len(kept) < 2:
            raise GradlabError(f"data.classes={','.join(names)} leaves one class: name two or more.")
        place = np.array([kept.index(name) if name in kept else -1 for name in self.classes])
        raw = copy(self)
        for field_name, value in {"targets": place[self.targets], "classes": kept, "whole": self}.items():
            object.__setattr__(raw, field_name, value)
        return raw

    def wanted(self, wants: Wants | None) -> "Raw":
        """The same examples with targets of the kind a task asks for, where they can be read so."""
        if not self.labelled and wants is not None:
            raise UnsuitableData("are examples without labels, which this task learns from. Use a generative task.")
        if wants == "classes" and self.classes is None:
            values, indices = np.unique(self.targets, return_inverse=True)
            most = min(_MOST_CLASSES, max(_FEW_CLASSES, len(self.targets) // 2))
            if len(values) > most or self.targets.size != len(self.targets):
                raise GradlabError(
                    f"The targets are {len(values):,} different numbers, too many to be classes. Use task=regress."
                )
            names = [str(int(v)) if v == int(v) else repr(v) for v in values.tolist()]
            return replace(self, targets=indices.ravel().astype(np.int64), classes=names)
        if wants == "numbers" and self.classes is not None:
            try:
                values = np.array([float(c) for c in self.classes])
            except ValueError:
                raise GradlabError(
                    f"The targets are classes such as {self.classes[0]!r}, not numbers. Use task=classify."
                ) from None
            return replace(self, targets=values[self.targets], classes=None)
        if wants == "series":
            raise UnsuitableData("holds no time series, which task=forecast needs. Use another task, or data=series.")
        if wants == "environment":
            raise UnsuitableData("is no environment. Use another task, or data=environment.")
        if wants not in (None, "classes", "numbers"):
            raise UnsuitableData("holds no text by itself. Use a task of its own, or data=text.")
        return self


def _plain_numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Without the two types that have no arithmetic or no JSON; an array of another type may be larger than memory."""
    if values.dtype == np.bool_:
        return values.view(np.uint8)
    return native(values) if values.dtype.kind == "f" and values.dtype.itemsize > 8 else values


def _check_classes(targets: npt.NDArray[Any], classes: list[str]) -> None:
    whole = targets.ndim == 1 and targets.dtype.kind in "iu"
    if not whole or targets.min() < 0 or targets.max() >= len(classes):
        raise GradlabError(
            f"Where there are classes, a target is the number of one of them, a whole number from 0 to "
            f"{len(classes) - 1}; got targets of shape {targets.shape} and type {targets.dtype}"
            + (f" from {targets.min()} to {targets.max()}." if whole else ".")
        )


@dataclass(frozen=True, kw_only=True)
class Targets:
    """What a task must know of the targets: the classes and their training counts, or mean and spread of numbers.

    Of text, `tokens` is the size of the vocabulary; `token_bytes` has the bytes of each token, where they are known;
    `masked` is how many tokens of a window are to be filled in. Of a table of one's own, `table` has the sizes of its
    embedded columns: other methods are tried on such a table too. Of series, `horizon` steps ahead are to be predicted
    from `history` steps before them, and they repeat themselves after `season` steps. Where targets are texts, `text`
    says how they are made of tokens; it is kept by the preparation of the data. A density of inputs that are numbers
    is smaller in raw units than in those that a model sees, by `log_scale` in its logarithm; None where that is another
    number for each example. Where not `drawable`, inputs as a model sees them do not tell raw ones.
    """

    classes: list[str] | None = None
    counts: list[int] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    std: list[float] = field(default_factory=list)
    tokens: int = 0
    token_bytes: list[int] = field(default_factory=list)
    masked: int = 0
    table: list[int] | None = None
    text: Any = None
    horizon: int = 0
    history: int = 0
    season: int = 0
    log_scale: float | None = 0.0
    drawable: bool = True

    @classmethod
    def of(cls, training: npt.NDArray[Any], classes: list[str] | None, table: Sequence[int] | None = None) -> "Targets":
        embedded = None if table is None else list(table)
        if classes is not None:
            counts = np.bincount(training, minlength=len(classes)).tolist()
            return cls(classes=classes, counts=counts, table=embedded)
        columns = training.reshape(len(training), -1).astype(np.float64)
        std = columns.std(axis=0)
        return cls(mean=columns.mean(axis=0).tolist(), std=np.where(std > 0, std, 1.0).tolist(), table=embedded)


def parts(values: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Rows a few at a time, each part with the number of its first row."""
    rows = max(1, _CHUNK // max(1, values[0].size)) if len(values) else 1
    return ((start, values[start : start + rows]) for start in range(0, len(values), rows))


def check_finite(values: npt.NDArray[Any], columns: list[str], missing: bool = False) -> None:
    """Refuse infinity, what is infinite in single precision and, unless it may be missing, NaN: by row and column."""
    if values.dtype.kind != "f":
        return
    for start, part in parts(values):
        fits = np.abs(part) <= np.finfo(np.float32).max  # False for NaN
        if missing:
            fits |= np.isnan(part)
        if not fits.all():
            _refuse(part, np.argwhere(~fits), start, columns)


def _refuse(values: npt.NDArray[Any], bad: npt.NDArray[np.int64], start: int, columns: list[str]) -> None:
    row, *position = (int(i) for i in bad[0])
    value = values[tuple(bad[0])]
    names = columns if len(columns) == values[0].size else []
    flat = int(np.ravel_multi_index(position, values.shape[1:])) if position else 0
    column = f"column {names[flat]!r}" if names else f"column {flat if len(position) < 2 else tuple(position)}"
    others = f" ({len(bad) - 1} more like it)" if len(bad) > 1 else ""
    raise GradlabError(
        f"The data hold {value} in row {start + row}, {column}{others}; rows and columns count from 0. "
        "Remove the row, or put a number of single precision in its place."
    )
