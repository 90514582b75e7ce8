"""The head of a model: its last map, which makes the outputs. All else is its trunk."""

from torch import nn

from gradlab.nn.position import BucketedPosition, LearnedPosition, RelativePosition

TABLES = (nn.Embedding, nn.EmbeddingBag, LearnedPosition, RelativePosition, BucketedPosition)
"""Modules whose rows are looked up, not multiplied."""


def head_of(model: nn.Module) -> str | None:
    """The name of a model's last map; None where it is no module of its own, as in a model with tied embeddings.

    It is what the model calls its `head`, which may be None. In a model without that name it is the last module with a
    matrix of weights.

    >>> head_of(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))
    '2'
    """
    for name, module in model.named_modules():
        head = getattr(module, "head", 0)
        if head is None or isinstance(head, nn.Module):
            return None if head is None else f"{name}.head".removeprefix(".")
    maps = [name for name, module in model.named_modules() if _multiplies(module)]
    return maps[-1] if maps else None


def _multiplies(module: nn.Module) -> bool:
    return not isinstance(module, TABLES) and any(p.ndim >= 2 for p in module.parameters(recurse=False))
