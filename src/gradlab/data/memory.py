"""How much memory there is, and how much of it the examples may take."""

import os
from pathlib import Path

from gradlab.errors import GradlabError

_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_for_data() -> int:
    """Bytes up to which preprocessed examples are kept in memory: an eighth of what this process may have.

    Preprocessing needs a few copies while it works, and the model and its gradients need room too. Which way it is
    decided changes no bit of what a model sees.
    """
    return memory() // 8


def check_memory(size: int, what: str, advice: str) -> None:
    """Refuse what would take more memory than there is, before any of it is taken."""
    if size > memory():
        raise GradlabError(
            f"{what} would take {size / 1e9:,.1f} GB of memory, and there are {memory() / 1e9:,.1f}. {advice}"
        )


def memory() -> int:
    """Bytes that this process may have, by its machine, its container and its limits."""
    most = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else [2**33]
    most += _container_limits()
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return min(most)
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    return min(most + [limit for limit in limits if limit != resource.RLIM_INFINITY])


def _container_limits() -> list[int]:
    """What a container allows; without a limit there is no such file, or it says `max`."""
    texts = [path.read_text().strip() for path in _CONTAINER if path.is_file()]
    return [int(text) for text in texts if text.isdigit()]
