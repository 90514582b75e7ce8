"""Activations that outlive their step: somebody holds the graph that they are in."""

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

    def made(self, activation: Tensor) -> None:
        """By a module inside of a root that runs."""
        if len(self._inside) < _EACH:
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

    def still(self, step: int) -> tuple[int, int]:
        """Of how many earlier looks some are still there, and of how many they should be gone."""
        earlier = [references for look, references in self._looks if look <= step - _AGE and references]
        return sum(any(not one.expired() for one in references) for references in earlier), len(earlier)
