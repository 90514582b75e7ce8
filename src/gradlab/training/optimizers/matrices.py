"""Which parameters of a model are matrices, and which of those lie between its inputs and its last map."""

from gradlab.models.head import TABLES, head_of
from gradlab.tasks.objective import begins
from gradlab.training.optimizers.base import Parameters


def matrices(parameters: Parameters) -> list[str]:
    """Names of weights with two axes or more that are neither a table of embeddings nor a vector in disguise."""
    tables = {id(p) for m in parameters.model.modules() if isinstance(m, TABLES) for p in m.parameters(recurse=False)}
    return [
        name
        for name, p in parameters.by_name.items()
        if p.ndim >= 2 and id(p) not in tables and p.shape[0] < p.numel() > p[0].numel() and not name.endswith("bias")
    ]


def inner_matrices(parameters: Parameters) -> set[str]:
    """Those of them that are not in the head."""
    head = head_of(parameters.model)
    return {name for name in matrices(parameters) if head is None or not begins(name, head)}
