"""Blocks that draw random numbers draw the same ones again."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gradlab.verification.case import Case


@contextmanager
def seeded(case: Case) -> Iterator[None]:
    """Whatever is drawn from torch's own generator inside of this is that of the case."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(case.generator("torch's own").initial_seed())
        yield
