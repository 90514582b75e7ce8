"""Which parameters of a model are matrices between its inputs and its last map."""

from gradlab.models.head import TABLES, head_of
from gradlab.tasks.objective import begins
from gradlab.training.optimizers.base import Parameters


def inner_matrices(parameters: Parameters) -> set[str]:
    """Names of weights with two axes or more that are no table of embeddings and not in the head."""
    model, head = parameters.model, head_of(parameters.model)
    tables = {id(p) for m in model.modules() if isinstance(m, TABLES) for p in m.parameters(recurse=False)}
    return {
        name
        for name, p in parameters.by_name.items()
        if p.ndim >= 2
        and id(p) not in tables
        and p.shape[0] < p.numel() > p[0].numel()
        and not name.endswith("bias")
        and (head is None or not begins(name, head))
    }
