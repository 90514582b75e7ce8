"""The generators of random numbers that data of one's own may draw from: torch's on the CPU, NumPy's, Python's."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def seed(number: int) -> None:
    torch.manual_seed(number)
    np.random.seed(number % 2**32)
    random.seed(number)


def states() -> tuple[Any, ...]:
    return torch.get_rng_state(), np.random.get_state(), random.getstate()


def restore(before: tuple[Any, ...]) -> None:
    torch.set_rng_state(before[0])
    np.random.set_state(before[1])
    random.setstate(before[2])


@contextmanager
def kept() -> Iterator[None]:
    """Afterwards they are as they were."""
    before = states()
    try:
        yield
    finally:
        restore(before)
