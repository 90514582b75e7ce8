"""Graphs that outlive their step, and activations in them: somebody holds what was made of a root's output."""

import weakref
from typing import Any

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

_LOOKS, _EACH, _AGE = 64, 16, 2
"""How many looks are remembered, with how many activations each; and how many steps later they should be gone."""


class Held:
    """Remembers the activations of looks weakly, and counts the looks of which some are still there."""

    def __init__(self) -> None:
        self._looks: list[tuple[int, list[Any]]] = []
        self._inside: dict[int, Any] = {}
        self._marks: list[tuple[int, weakref.ref[_Mark]]] = []

    def made(self, activation: Tensor) -> None:
        """By a module inside of a root that runs."""
        if len(self._inside) < _EACH and activation.numel() > 1:  # single numbers, such as losses, may be kept
            storage = activation.untyped_storage()
            self._inside[storage._cdata] = StorageWeakRef(storage)  # type: ignore[no-untyped-call]

    def given(self, step: int, outputs: list[Tensor]) -> None:
        """The root has run. What it gives, the user may well keep."""
        for output in outputs:
            self._inside.pop(output.untyped_storage()._cdata, None)
        if not self._looks or self._looks[-1][0] != step:
            self._looks = [*self._looks[1 - _LOOKS :], (step, [])]
        self._looks[-1][1].extend(self._inside.values())
        self._inside = {}

    def mark(self, step: int, node: Any) -> None:
        """The node of a root's output: what autograd lets one leave there lives as long as the node."""
        mark = _Mark()
        node.metadata[_KEY] = mark
        self._marks = [*self._marks[1 - _LOOKS :], (step, weakref.ref(mark))]

    def activations(self, step: int) -> float | None:
        """The share of earlier looks of which some are still there; None where there is none that should be gone."""
        earlier = [references for look, references in self._looks if look <= step - _AGE and references]
        return _share([any(not one.expired() for one in references) for references in earlier])

    def graphs(self, step: int) -> float | None:
        """The same of graphs, whose activations a backward pass may have freed."""
        return _share([mark() is not None for look, mark in self._marks if look <= step - _AGE])


class _Mark:
    """Nothing but something that can be referred to."""


_KEY = "gradlab: alive"


def _share(there: list[bool]) -> float | None:
    return sum(there) / len(there) if there else None
