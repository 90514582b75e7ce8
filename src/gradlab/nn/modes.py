"""Evaluation mode for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def evaluating(*models: Any) -> Iterator[None]:
    """Neither dropout masks nor running statistics move. Afterwards each part of the modules is in the mode it had."""
    parts = [part for model in models if isinstance(model, nn.Module) for part in model.modules() if part.training]
    for part in parts:
        part.training = False
    try:
        yield
    finally:
        for part in parts:
            part.training = True
