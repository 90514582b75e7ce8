"""Which steps are looked at: all of the first, then ever fewer, and none while looking has cost too much."""

import time

_SHARE, _GRACE = 0.08, 0.25


class Pace:
    """The steps are chosen by their number, so that a second run sees the same ones, as long as time allows."""

    def __init__(self) -> None:
        self.own = 0.0
        """Seconds that watching has taken; of this thread alone, so that a busy machine does not count."""
        self.looks = 0.0
        """Those of steps that were looked at: what must be done at every step would else use up all of the share."""
        self.began = time.perf_counter()

    def due(self, step: int, together: int) -> bool:
        """Whether to look at a step. Optimisers that take turns are looked at `together`."""
        turn = step // max(1, together)
        if turn < 10:
            return True
        every = 5 if turn < 100 else 20 if turn < 1000 else 50 if turn < 5000 else 250
        return turn % every == 0 and self.looks < _GRACE + _SHARE * (time.perf_counter() - self.began)
