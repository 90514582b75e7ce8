"""The columns of what a root is given, pooled over looks."""

import torch
from torch import Tensor

from gradlab.diagnosis.record import COLUMNS, Inputs

_LOOKS, _KEPT = 20, 1_000_000


class Columns:
    """Features of a table, channels of a picture, features of a sequence's steps."""

    def __init__(self) -> None:
        self.inputs = Inputs()
        self._count = 0
        self._sum = self._squares = self._low = self._high = torch.empty(0)
        self._equal: set[tuple[int, int]] | None = None

    def add(self, tensor: Tensor) -> None:
        seen = self.inputs
        if seen.looks >= _LOOKS or tensor.numel() == 0 or tensor.layout != torch.strided or tensor.is_nested:
            return
        seen.shape, seen.dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
        seen.looks += 1
        seen.rows += len(tensor) if tensor.ndim else 1
        values = tensor.detach()
        if seen.sample is None:
            rows = max(1, min(256, _KEPT // max(1, values[:1].numel()))) if values.ndim else 1
            seen.sample = (values[:rows] if values.ndim else values).clone().cpu()
        if not values.is_floating_point():
            values = values.double()
        flat = _columns(values).double().cpu()
        if flat.shape[1] > COLUMNS:
            return
        finite = flat.isfinite()
        if not bool(finite.all()):
            seen.not_finite = True
            flat = flat.nan_to_num(0.0, 0.0, 0.0)
        if self._count and len(self._sum) != flat.shape[1]:  # another width: begin again
            self._count = 0
        low, high = flat.amin(0), flat.amax(0)
        if self._count == 0:
            self._sum, self._squares, self._low, self._high = flat.sum(0), flat.square().sum(0), low, high
        else:
            self._sum, self._squares = self._sum + flat.sum(0), self._squares + flat.square().sum(0)
            self._low, self._high = torch.minimum(self._low, low), torch.maximum(self._high, high)
        self._count += len(flat)
        mean = self._sum / self._count
        seen.mean = mean.tolist()
        seen.std = (self._squares / self._count - mean.square()).clamp(min=0).sqrt().tolist()
        seen.low, seen.high = self._low.tolist(), self._high.tolist()
        if values.ndim == 2 and len(flat) >= 8 and flat.shape[1] <= 1024:
            self._twins(flat)

    def _twins(self, flat: Tensor) -> None:
        """Columns that are equal, and not constant."""
        groups: dict[bytes, int] = {}
        equal = set()
        for number, column in enumerate(flat.T.contiguous().numpy()):
            first = groups.setdefault(column.tobytes(), number)
            if first != number and column.min() != column.max():
                equal.add((first, number))
        self._equal = equal if self._equal is None else self._equal & equal
        self.inputs.duplicated = sorted(self._equal)[:10]
        self.inputs.copies = len({other for _, other in self._equal})


def _columns(values: Tensor) -> Tensor:
    """(values, columns): the last axis of tables and sequences, the channels of pictures."""
    if values.ndim <= 1:
        return values.reshape(-1, 1)
    if values.ndim in (2, 3):
        return values.reshape(-1, values.shape[-1])
    return values.transpose(0, 1).reshape(values.shape[1], -1).T
