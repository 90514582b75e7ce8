"""The graph of a loss, read off autograd: which operations, in which order, from which parameters."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor

from gradlab.diagnosis.record import COUNTED, Graph, Node

_MARK = "gradlab: first seen at step"
VIEWED = ("View", "UnsafeView", "_UnsafeView", "ReshapeAlias")
"""Operations that give the same numbers other axes."""


def nodes_of(loss: Tensor, most: int = COUNTED) -> list[Any]:
    """Autograd's own nodes, from the loss towards its leaves, each once."""
    if loss.grad_fn is None:
        return []
    operations, known = [loss.grad_fn], {loss.grad_fn: 0}
    for node in operations:
        if len(operations) >= most:
            break
        for source, _ in node.next_functions:
            if source is not None and source not in known:
                known[source] = len(operations)
                operations.append(source)
    return operations


def carried(operations: list[Any], step: int) -> int:
    """How many operations were already there at an earlier step; those that are new are marked."""
    count = 0
    for node in operations:
        if not hasattr(node, "variable"):
            count += node.metadata.setdefault(_MARK, step) < step
    return count


def short(node: Any) -> str:
    """Without `Backward0`, which says nothing."""
    name: str = node.name()
    name = name.rsplit("::", 1)[-1]
    for ending in ("Backward0", "Backward1", "Backward2", "Backward"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name


def read(
    step: int, operations: list[Any], name_of: Callable[[Tensor], str | None], makers: Mapping[Any, str], saves: bool
) -> Graph:
    """The graph as plain data."""
    number = {node: i for i, node in enumerate(operations)}
    nodes = []
    for node in operations:
        name = short(node)
        one = Node(
            name=name,
            inputs=[number[source] for source, _ in node.next_functions if source is not None and source in number],
            shape=shape_of(node),
            module=makers.get(node),
        )
        if name == "struct torch::autograd::AccumulateGrad" or hasattr(node, "variable"):
            one.name, one.parameter = "AccumulateGrad", name_of(node.variable)
            one.shape = tuple(node.variable.shape)
        else:
            one.dim, one.axes = axis(node), _moved(node, name, len(one.shape))
            one.before = viewed(node) if name in VIEWED else ()
            if saves and name == "Mul" and len(one.inputs) == 1 and len(operations) <= 2000:
                factor = saved(node, "_saved_other", "_saved_self")
                one.other = None if factor is None else tuple(factor.shape)
        nodes.append(one)
    return Graph(step=step, nodes=nodes)


def viewed(node: Any) -> tuple[int, ...]:
    """The shape of what a view was made of."""
    sizes = getattr(node, "_saved_self_sym_sizes", None)
    return tuple(int(size) for size in sizes) if sizes else ()


def shape_of(node: Any) -> tuple[int, ...]:
    try:
        return tuple(node._input_metadata[0].shape)
    except (AttributeError, IndexError, RuntimeError):
        return ()


def axis(node: Any) -> int | None:
    dim = getattr(node, "_saved_dim", None)
    return signed(dim) if isinstance(dim, int) else None


def _moved(node: Any, name: str, axes: int) -> tuple[int, ...]:
    if name in ("T", "Mt", "NumpyT"):
        return tuple(reversed(range(axes)))
    if name == "Permute":
        return tuple(signed(dim) % max(1, axes) for dim in getattr(node, "_saved_dims", ()))
    if name == "Transpose":
        order = list(range(axes))
        one, other = (signed(getattr(node, f"_saved_dim{i}", 0)) % max(1, axes) for i in (0, 1))
        order[one], order[other] = order[other], order[one]
        return tuple(order)
    return ()


def signed(dim: int) -> int:
    """Autograd keeps an axis as an unsigned number: 2**64 - 1 is -1."""
    return dim - 2**64 if dim >= 2**63 else dim


def saved(node: Any, *names: str) -> Tensor | None:
    """A tensor that a node keeps, if it still is as it was."""
    for name in names:
        try:
            tensor = getattr(node, name, None)
        except RuntimeError:  # changed in place since, or freed: nothing that backward would accept either
            return None
        if isinstance(tensor, Tensor):
            return tensor
    return None


def data(operations: list[Any]) -> Tensor | None:
    """What goes into the first product with a parameter: the input, where no module was given it."""
    for node in reversed(operations):
        name = short(node)
        if name in ("Mm", "Addmm", "Bmm") and node.next_functions[1 if name == "Addmm" else 0][0] is None:
            return saved(node, "_saved_mat1" if name == "Addmm" else "_saved_self")
    return None


def upstream(node: Any, most: int) -> Iterator[Any]:
    """The operations that a result comes from, the nearest first, and at most so many."""
    waiting, known = [node], {node}
    for one in waiting:
        yield one
        for source, _ in one.next_functions:
            if source is not None and source not in known and len(known) < most:
                known.add(source)
                waiting.append(source)
