"""Random numbers go on as if nothing had been."""

import contextlib
import random
from collections.abc import Iterator

import numpy as np
import torch


@contextlib.contextmanager
def unrolled() -> Iterator[None]:
    """Around whatever may draw: a model that runs again, or one whose copy is made anew, with seeds of its own."""
    plain, numbers = random.getstate(), np.random.get_state()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(numbers)
