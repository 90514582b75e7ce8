"""Tensors of a module that are neither its parameters nor its buffers: what moves or trains it passes them by."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

NAME = "what it learns and keeps is registered"


def loose_tensors(module: nn.Module) -> Iterator[tuple[str, str]]:
    """Each with what is wrong with it; a table that is not learned is only told, since it may be moved by hand."""
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            own = f"{path}.{name}".lstrip(".")
            if isinstance(value, Tensor):
                if value.grad_fn is None or _learns(value, module):
                    yield own, "wants a gradient and is no nn.Parameter" if value.requires_grad else ""
            elif name not in _REGISTERED and isinstance(value, list | tuple | dict):
                held = list(value.values()) if isinstance(value, dict) else value
                yield from ((own, "holds modules and is no nn.ModuleList") for _ in _unseen(held, module))


def _learns(value: Tensor, module: nn.Module) -> bool:
    """Whether a tensor was computed from one that is registered nowhere; weights of attention are from parameters."""
    known, seen, left = {id(p) for p in module.parameters()}, set[Any](), [value.grad_fn]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if (leaf := getattr(node, "variable", None)) is not None and id(leaf) not in known:
            return True
        left += [before for before, _ in node.next_functions]
    return False


def _unseen(values: Any, module: nn.Module) -> Iterator[nn.Module]:
    """The first module among these that is registered nowhere."""
    known = {id(part) for part in module.modules()}
    for value in values:
        if isinstance(value, nn.Module) and id(value) not in known and any(True for _ in value.parameters()):
            yield value
            return


_REGISTERED = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
