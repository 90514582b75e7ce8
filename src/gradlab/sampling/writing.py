"""Filtering, choosing and writing as operations of the device alone, so that a recorded step is a whole token."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from gradlab import kernels
from gradlab.sampling.choice import Chosen, Watch
from gradlab.sampling.filters import LogitFilter, MinP, Temperature, TopK, widened
from gradlab.sampling.page import Page

_KNOWN = (Temperature, TopK, MinP)
"""Filters that look at the logits alone, and wait for nothing."""


class Writing:
    """What follows the logits of a position that the device counts."""

    def __init__(
        self,
        page: Page,
        watch: Watch,
        choose: Callable[[Tensor, int | Tensor], Chosen],
        filters: Sequence[LogitFilter],
        greedy: bool,
    ) -> None:
        self.page, self.watch, self.choose, self.filters = page, watch, choose, filters
        self.position = torch.zeros(1, dtype=torch.int64, device=page.tokens.device)
        self._by_kernel = greedy and page.is_simple and kernels.run_on(page.tokens.device)

    @staticmethod
    def can(filters: Sequence[LogitFilter]) -> bool:
        """Whether all of these can be part of it."""
        return all(type(change) in _KNOWN for change in filters)

    @property
    def changed(self) -> list[Tensor]:
        """What it changes for good."""
        return [self.position, self.page.tokens, self.page.done, self.watch.sound]

    def __call__(self, logits: Float[Tensor, "rows 1 vocabulary"], chosen: Int64[Tensor, "rows 1"]) -> None:
        """Write what is chosen to the page and to `chosen`, and go to the next position."""
        logits = logits.select(1, -1)
        if self._by_kernel:
            from gradlab.kernels.peak import write_peak

            write_peak(logits, self.page.tokens, self.watch.sound, self.position, chosen)
        else:
            logits = widened(logits) if self.filters else logits
            for change in self.filters:
                logits = change(logits, None)  # type: ignore[arg-type]
            tokens, sound = self.choose(logits, self.position)
            chosen.copy_(self.page.put(tokens, self.position)[:, None])
            self.watch.sound.index_copy_(0, self.position, sound.to(self.watch.sound.dtype)[None])
        self.position.add_(1)
