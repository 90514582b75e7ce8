"""Which parameters of a model are matrices, and which of those lie between its inputs and its last map."""

from torch import nn

from gradlab.nn.position import LearnedPosition, RelativePosition
from gradlab.training.optimizers.base import Parameters

_TABLES = (nn.Embedding, nn.EmbeddingBag, LearnedPosition, RelativePosition)  # rows are looked up, not multiplied


def matrices(parameters: Parameters) -> list[str]:
    """Names of weights with two axes or more that are neither a table of embeddings nor a vector in disguise."""
    tables = {id(p) for m in parameters.model.modules() if isinstance(m, _TABLES) for p in m.parameters(recurse=False)}
    return [
        name
        for name, p in parameters.by_name.items()
        if p.ndim >= 2 and id(p) not in tables and p.shape[0] < p.numel() > p[0].numel() and not name.endswith("bias")
    ]


def inner_matrices(parameters: Parameters) -> set[str]:
    """Those of them that are not in the last map.

    The last map is what the model calls its `head`: None, where it is the table of embeddings. In a model without that
    name it is the last of the matrices.
    """
    named, found = parameters.by_name, matrices(parameters)
    named_so = (getattr(module, "head", 0) for module in parameters.model.modules())
    heads = [head for head in named_so if head is None or isinstance(head, nn.Module)]
    if not heads:
        return set(found[:-1])
    last = set(map(id, heads[0].parameters())) if heads[0] is not None else set()
    return {name for name in found if id(named[name]) not in last}
