"""Where the inputs of roots come from: the data, or another root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradlab.diagnosis.record import COLUMNS, Root
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

    def trained_on(self, root: Root, given: Tensor | None) -> None:
        """Whether a root's input is what another root made: a discriminator's are of both kinds."""
        if given is None or not given.is_floating_point() or given.ndim < 2 or len(given) < 2:
            return
        rows = given.detach().reshape(len(given), -1).float()
        if rows.shape[1] > COLUMNS:
            return
        std, mean = torch.std_mean(rows, dim=0, correction=0)
        maker = self.outputs.get(given)
        now = (mean.tolist(), std.tolist())
        if maker is not None and maker != root.name:
            root.made, root.made_at = _blended(root.made, now), self.watch.step
        else:
            root.given = _blended(root.given, now)

    def called_with(self, root: Root, given: Tensor | None) -> None:
        """Which roots were given the very same."""
        if given is None or not given.numel() or given.layout != torch.strided:
            return
        here = self.given.get(given)
        if here is None:
            self.given[given] = here = {}
        names = here.setdefault((int(given.storage_offset()), tuple(given.shape)), set())
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
