"""What a source returns: all examples, as they are in the world."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.errors import GradlabError


@dataclass(frozen=True, kw_only=True)
class Raw:
    """Examples before any split or preprocessing.

    `inputs` is (examples, features) for tables and (examples, channels, height, width) for images. `targets` holds
    class indices where `classes` names them, otherwise numbers. Rows from `test_from` on are the source's own test.
    """

    inputs: npt.NDArray[Any]
    targets: npt.NDArray[Any]
    features: list[str] = field(default_factory=list)
    classes: list[str] | None = None
    test_from: int | None = None

    def __post_init__(self) -> None:
        if 0 in self.inputs.shape:
            raise GradlabError(f"There is nothing to learn from in inputs of shape {self.inputs.shape}.")
        if len(self.inputs) != len(self.targets):
            raise GradlabError(f"There are {len(self.inputs)} inputs but {len(self.targets)} targets.")
        check_finite(self.inputs, self.features)
        check_finite(self.targets, ["target"])

    def fingerprint(self) -> str:
        """SHA-256 over every value, so that a resumed run can tell that its data are the same."""
        digest = hashlib.sha256()
        for array in (self.inputs, self.targets):
            digest.update(str((array.dtype, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Targets:
    """What a task must know of the targets: the names of the classes, or mean and spread of the training numbers."""

    classes: list[str] | None = None
    mean: list[float] = field(default_factory=list)
    std: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, training: npt.NDArray[Any], classes: list[str] | None) -> "Targets":
        if classes is not None:
            return cls(classes=classes)
        columns = training.reshape(len(training), -1).astype(np.float64)
        std = columns.std(axis=0)
        return cls(mean=columns.mean(axis=0).tolist(), std=np.where(std > 0, std, 1.0).tolist())


def check_finite(values: npt.NDArray[Any], columns: list[str]) -> None:
    """Refuse NaN, infinity and what is infinite in single precision, naming the first by row and column."""
    if values.dtype.kind != "f":
        return
    fits = np.abs(values) <= np.finfo(np.float32).max  # False for NaN
    if fits.all():
        return
    bad = np.argwhere(~fits)
    row, *position = (int(i) for i in bad[0])
    value = values[tuple(bad[0])]
    names = columns if len(columns) == values[0].size else []
    flat = int(np.ravel_multi_index(position, values.shape[1:])) if position else 0
    column = f"column {names[flat]!r}" if names else f"column {flat if len(position) < 2 else tuple(position)}"
    others = f" ({len(bad) - 1} more like it)" if len(bad) > 1 else ""
    raise GradlabError(
        f"The data hold {value} in row {row}, {column}{others}; rows and columns count from 0. "
        "Remove the row, or put a number of single precision in its place."
    )
