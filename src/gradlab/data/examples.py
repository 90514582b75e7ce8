"""One split, as a model sees it: in memory where it fits, otherwise read as it is needed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int64
from torch import Tensor

from gradlab.data.batch import Batch, sent
from gradlab.data.order import permutation
from gradlab.errors import GradlabError

if TYPE_CHECKING:
    from gradlab.data.preprocessing import Preprocessing

Rows = npt.NDArray[np.int64]
Some = TypeVar("Some", bound="Examples")  # of a kind


class Column(Protocol):
    """What training and evaluation use of a tensor; columns that are read as they are needed have as much."""

    @property
    def shape(self) -> torch.Size: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def nbytes(self) -> int: ...

    def __len__(self) -> int: ...

    def __getitem__(self, chosen: Any) -> Tensor: ...

    def index_select(self, axis: int, chosen: Tensor) -> Tensor: ...

    def to(self, device: torch.device) -> Any: ...


def at_once(rows: int, *columns: Any) -> int:
    """So many rows; more where a column says that few cost as much as many, fewer where more do not fit into memory."""
    rows = max(rows, *(getattr(column, "least_rows", 0) for column in columns))
    return min(rows, *(getattr(column, "most_rows", rows) for column in columns))


class Streamed:
    """Inputs larger than memory: rows are read and preprocessed when they are asked for. It gives the same bits."""

    on_host = True

    def __init__(
        self, source: npt.NDArray[Any], rows: Rows, preprocessing: "Preprocessing", device: torch.device | None = None
    ):
        self.source, self.rows, self.preprocessing = source, rows, preprocessing
        self.device = device or torch.device("cpu")
        self.shape = torch.Size((len(rows), *preprocessing.output_shape))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: slice | Tensor | Rows) -> Tensor:
        rows = self.rows[chosen.cpu().numpy() if isinstance(chosen, Tensor) else chosen]
        # In the order of the file, which is how a disk reads fastest, and then as asked for.
        order = np.argsort(rows, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return sent(self.preprocessing(self.source[rows[order]])[back], self.device)

    def index_select(self, axis: int, chosen: Tensor) -> Tensor:
        assert axis == 0
        return self[chosen]

    def subset(self, chosen: Rows) -> "Streamed":
        return Streamed(self.source, self.rows[chosen], self.preprocessing, self.device)

    @property
    def nbytes(self) -> int:
        return 4 * self.shape.numel()

    def to(self, device: torch.device) -> "Streamed":
        return Streamed(self.source, self.rows, self.preprocessing, device)


@dataclass(frozen=True, repr=False)
class Examples:
    """One split: named columns with a row for each example, and the rows of the source they came from.

    Supervised learning has `inputs`, `targets` and perhaps `weights`, whose mean is 1, so that the weighted mean loss
    of a batch has the scale of the plain one. Kinds of data that are read in another way are subclasses.
    """

    parts: Mapping[str, Any]
    rows: Rows
    carries: bool = field(default=False, kw_only=True)
    """Whether each example is read from the state that the one before it left."""

    together: ClassVar[bool] = True
    """Whether an epoch may be put in order all at once."""

    @classmethod
    def of(cls: type[Some], inputs: Any, targets: Any, rows: Rows | None = None, weights: Tensor | None = None) -> Some:
        """The examples of supervised learning."""
        parts = {"inputs": inputs, "targets": targets} | ({} if weights is None else {"weights": weights})
        return cls(parts, np.arange(len(inputs)) if rows is None else rows)

    @classmethod
    def by_name(cls: type[Some], parts: Mapping[str, Any]) -> Some:
        """Examples of any kind: columns by name, a row for each example."""
        first = next(iter(parts.values()), ())
        return cls(parts, np.arange(0 if getattr(first, "shape", None) == () else len(first)))

    def __post_init__(self) -> None:
        for name, part in self.parts.items():
            if not hasattr(part, "to"):
                kind = type(part).__name__
                raise GradlabError(f"The part {name!r} of the data must be a tensor, got a {kind}: torch.as_tensor.")
            if isinstance(part, Tensor) and not part.ndim:
                raise GradlabError(f"The part {name!r} of the data must have a row for each example, got one number.")
        lengths = {name: len(part) for name, part in self.parts.items()}
        if len(set(lengths.values())) != 1:
            counts = ", ".join(f"{name} has {count:,}" for name, count in lengths.items())
            raise GradlabError(
                f"The parts of the data must hold the same number of examples, but {counts or 'there are no parts'}."
            )

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    def __repr__(self) -> str:
        """Names and shapes without the values: a training split may have millions."""
        shapes = ", ".join(f"{name} {tuple(getattr(part, 'shape', ()))}" for name, part in self.parts.items())
        return f"{type(self).__name__}({len(self):,} examples: {shapes})"

    @property
    def inputs(self) -> Any:
        return self.parts["inputs"]

    @property
    def targets(self) -> Any:
        return self.parts["targets"]

    @property
    def weights(self) -> Tensor | None:
        return self.parts.get("weights")

    @property
    def device(self) -> torch.device:
        device: torch.device = next(iter(self.parts.values())).device
        return device

    @property
    def nbytes(self) -> int:
        """Of the columns as tensors."""
        return max(int(part.nbytes) for part in self.parts.values())

    def but(self: Some, **parts: Any) -> Some:
        """The same with some columns replaced."""
        return replace(self, parts={**self.parts, **parts})

    def to(self: Some, device: torch.device) -> Some:
        return self.but(**{name: part.to(device) for name, part in self.parts.items()})

    def batch(self, rows: Any) -> Batch:
        """Some rows as a batch."""
        return {name: part[rows] for name, part in self.parts.items()}

    def select(self, rows: Int64[Tensor, " rows"], here: Int64[Tensor, " rows"]) -> Batch:
        """The same for row numbers on the device, and on the host for columns that are read there."""
        on_host = {name: getattr(part, "on_host", False) for name, part in self.parts.items()}
        return {name: part.index_select(0, here if on_host[name] else rows) for name, part in self.parts.items()}

    def subset(self: Some, chosen: Rows) -> Some:
        """Some of them, as they are."""
        some = {n: p[chosen] if isinstance(p, Tensor) else p.subset(chosen) for n, p in self.parts.items()}
        return replace(self, parts=some, rows=self.rows[chosen])

    def sample(self: Some, count: int) -> Some:
        """Some of them, evenly spread, since sources often have their classes one after the other."""
        count = min(count, len(self))
        return self.subset(np.arange(count) * len(self) // max(1, count))

    def batches(self, rows: int) -> Iterator[Batch]:
        """All of them in their order, so many rows at a time at most."""
        rows = at_once(rows, *self.parts.values())
        return (self.batch(slice(start, start + rows)) for start in range(0, max(1, len(self)), rows))

    # How an epoch is read: a pure function of (seed, epoch).

    def for_epoch(self: Some, seed: int, epoch: int) -> Some:
        """The same, but for what differs from epoch to epoch."""
        return self

    def order(self, seed: int, epoch: int, batch_size: int) -> Int64[Tensor, " rows"]:
        """The rows of an epoch, batch after batch."""
        return permutation(len(self), seed, epoch)

    def apart(self: Some) -> Some:
        """The same, each read by itself."""
        return replace(self, carries=False)

    def carried(self) -> "Examples":
        """The same, read in order, each from the state that the one before it left."""
        raise GradlabError(
            "train.carry=true is for a text that is read in order, to predict the next token (task=language); these "
            "examples stand alone. Set train.carry=false."
        )
