"""Several processes that train one model together, each on its part of every batch: what they tell each other.

`torchrun` starts them and says in the environment which is which. Everything here is a no-op in a single process.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def count() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1")) if _joined() else 1


def rank() -> int:
    """Which of them this is; the first, 0, writes and prints."""
    return int(os.environ.get("RANK", "0")) if _joined() else 0


def _joined() -> bool:
    return False


def share(split: T) -> T:
    """This process's part of a split; the split itself where there is one process."""
    return split


def sums(values: Any) -> Any:
    return values


def merged(part: Any, merge: Callable[[Any, Any], Any]) -> Any:
    return part
