"""How much memory the examples may take."""

from gradlab import process


def memory_for_data() -> int:
    """Bytes up to which preprocessed examples are kept in memory: an eighth of what this process may have.

    Preprocessing needs a few copies while it works, and the model and its gradients need room too. Which way it is
    decided changes no bit of what a model sees.
    """
    return process.memory() // 8
