"""Windows over series: what a model sees of the past and of the times ahead, computed as they are asked for."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab.data.examples import Rows


@dataclass(frozen=True, eq=False)
class Windows:
    """Of each origin the rows before it and, without what is not yet known there, the rows ahead.

    `rows` has the features of all rows of all series, of which the first `unknown` are not known ahead; the first of
    all is the series itself, the last is 1. In a window the series is relative to its `level`, the mean over the
    history, and the last feature is 1 where a row is ahead. Like
    `data.examples.Streamed`, it has as much of a tensor's surface as training and evaluation use.
    """

    rows: Float[Tensor, "rows features"]
    origins: Int64[Tensor, " windows"]
    """The rows that come first ahead."""
    level: Float[Tensor, " windows"]
    history: int
    horizon: int
    unknown: int

    def __len__(self) -> int:
        return len(self.origins)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self), self.history + self.horizon, self.rows.shape[1]))

    @property
    def device(self) -> torch.device:
        return self.rows.device

    @property
    def nbytes(self) -> int:
        """Of all windows as a tensor."""
        return 4 * self.shape.numel()

    def __getitem__(self, chosen: slice | Tensor | Rows) -> Float[Tensor, "chosen length features"]:
        if not isinstance(chosen, slice):
            chosen = torch.as_tensor(chosen, device=self.device)
        along = torch.arange(-self.history, self.horizon, device=self.device)
        windows = self.rows[self.origins[chosen, None] + along]
        windows[:, :, 0] -= self.level[chosen, None]
        windows[:, self.history :, : self.unknown] = 0
        windows[:, : self.history, -1] = 0
        return windows

    def index_select(self, axis: int, chosen: Int64[Tensor, " chosen"]) -> Float[Tensor, "chosen length features"]:
        assert axis == 0
        return self[chosen]

    def subset(self, chosen: Rows) -> "Windows":
        return replace(self, origins=self.origins[chosen], level=self.level[chosen])

    def to(self, device: torch.device) -> "Windows":
        moved = {name: getattr(self, name).to(device) for name in ("rows", "origins", "level")}
        return replace(self, **moved)
