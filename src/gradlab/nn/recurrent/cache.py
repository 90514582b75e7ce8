"""The state of a model that remembers a text in a few numbers, whatever its length."""

from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from gradlab.nn.sizes import at_least


class StateCache:
    """The state of a recurrent network, or the sums of linear attention, behind the tokens that were read.

    A state cannot be made shorter as a list of keys can. So the last few are kept, `remembered` of them, and `truncate`
    goes back to the newest of them that is early enough: `length` tells how much is left, and whoever reads on reads
    from there. States are replaced and never written into, hence to keep one is to keep a reference.

    A state is a tensor, or tuples, lists or dictionaries of them; `batch_axis` is the axis of rows in each.

    >>> import torch
    >>> from gradlab.nn import GRU
    >>> gru, cache = GRU(3, 2, batch_first=True), StateCache(batch_axis=1)
    >>> outputs, state = gru(torch.ones(5, 7, 3), cache.state)
    >>> cache.update(state, steps=7)
    >>> cache.length
    7
    """

    def __init__(self, batch_axis: int = 0, remembered: int = 16) -> None:
        at_least(1, "StateCache", remembered=remembered)
        self.batch_axis = batch_axis
        self._past: deque[tuple[int, Any]] = deque(maxlen=remembered)
        self._held: Any = None

    @property
    def state(self) -> Any:
        """The state behind the last token, or None before the first."""
        return self._past[-1][1] if self._past else None

    @property
    def length(self) -> int:
        """How many tokens have been read."""
        return self._past[-1][0] if self._past else 0

    def update(self, state: Any, steps: int) -> None:
        """The state after so many more tokens."""
        length = self.length + steps
        if self._held is not None:
            self._past.clear()
            state = self._written(state)
        self._past.append((length, state))

    def hold(self) -> list[Tensor]:
        """Keep one state in one place from now on, written over by each update: for steps that a device replays."""
        if self._held is None:
            length, self._held = self.length, mapped(torch.clone, self.state)
            self._past.clear()
            self._past.append((length, self._held))
        return _parts(self._held)

    def overwrite(self, state: Any) -> None:
        """The held state after a step that may be replayed: the host counts it by `moved`."""
        self._written(state)

    def moved(self) -> None:
        """A step was replayed."""
        self._past[-1] = self.length + 1, self._held

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Row i becomes what row rows[i] was. Earlier states are forgotten."""
        if self._past:
            length, state = self._past[-1]
            state = mapped(lambda part: part.index_select(self.batch_axis, rows), state)
            self._past.clear()
            self._past.append((length, state if self._held is None else self._written(state)))

    def truncate(self, length: int) -> None:
        """Go back to the newest state of at most so many tokens: to before the first, if none is remembered."""
        while self._past and self.length > length:
            self._past.pop()

    def _written(self, state: Any) -> Any:
        for mine, part in zip(_parts(self._held), _parts(state), strict=True):
            mine.copy_(part)
        return self._held


def mapped(change: Callable[[Tensor], Tensor], state: Any) -> Any:
    """The same structure, each tensor changed."""
    if isinstance(state, Tensor):
        return change(state)
    if isinstance(state, dict):
        return {name: mapped(change, part) for name, part in state.items()}
    parts = [mapped(change, part) for part in state]
    # A named tuple takes its parts one by one.
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)


def _parts(state: Any) -> list[Tensor]:
    """Its tensors, one after the other."""
    parts: list[Tensor] = []
    mapped(lambda part: parts.append(part) or part, state)  # type: ignore[func-returns-value]
    return parts
