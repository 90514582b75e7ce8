"""Where the inputs of roots come from: the data, or another root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradlab.diagnosis.record import COLUMNS, Root
from gradlab.diagnosis.shapes import flatten_rows
from gradlab.diagnosis.watching.known import Stored

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch


class Origins:
    """By the memory in which tensors lie, within a step."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.outputs: Stored[str] = Stored()
        """Whose outputs of this look lie where."""
        self.given: Stored[dict[tuple[int, tuple[int, ...]], set[str]]] = Stored()
        """Whose inputs of this look lie where, by offset and shape."""

    def clear(self) -> None:
        self.outputs.clear()
        self.given.clear()

    def trained_on(self, root: Root, inputs: Tensor | None) -> None:
        """Whether a root's input is what another root made: a discriminator's are of both kinds."""
        if inputs is None or not inputs.is_floating_point() or inputs.ndim < 2 or len(inputs) < 2:
            return
        rows = flatten_rows(inputs.detach()).float()
        if rows.shape[1] > COLUMNS:
            return
        std, mean = torch.std_mean(rows, dim=0, correction=0)
        maker = self.outputs.get(inputs)
        now = (mean.tolist(), std.tolist())
        if maker is not None and maker != root.name:
            root.from_root, root.from_root_step = _blended(root.from_root, now), self.watch.step
        else:
            root.from_data = _blended(root.from_data, now)

    def called_with(self, root: Root, inputs: Tensor | None) -> None:
        """Which roots were given the very same."""
        if inputs is None or not inputs.numel() or inputs.layout != torch.strided:
            return
        here = self.given.get(inputs)
        if here is None:
            self.given[inputs] = here = {}
        names = here.setdefault((int(inputs.storage_offset()), tuple(inputs.shape)), set())
        for other in self.watch.record.roots:
            if other.name in names and other is not root:
                other.beside.add(root.name)
                root.beside.add(other.name)
        names.add(root.name)

    def gave(self, root: Root, output: Tensor | None) -> None:
        if output is not None and output.is_floating_point() and output.numel():
            self.outputs[output] = root.name


def _blended(
    before: tuple[list[float], list[float]] | None, now: tuple[list[float], list[float]]
) -> tuple[list[float], list[float]]:
    """Mostly the last looks."""
    if before is None or len(before[0]) != len(now[0]):
        return now
    mean, std = ([0.7 * a + 0.3 * b for a, b in zip(x, y, strict=True)] for x, y in zip(before, now, strict=True))
    return mean, std
