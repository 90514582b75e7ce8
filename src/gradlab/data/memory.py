"""How much memory there is, and how much of it the examples may take."""

from gradlab.errors import GradlabError
from gradlab.process import memory


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
