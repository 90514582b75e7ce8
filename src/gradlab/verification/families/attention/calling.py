"""Calling attention as others write it: with other names, with or without a mask, with weights beside the result."""

import inspect
from typing import Any

from torch import Tensor, nn

from gradlab.nn.blocks import settings_of
from gradlab.verification.calls import OTHER_NAMES, own_signature
from gradlab.verification.case import Case
from gradlab.verification.masks import LENGTHS
from gradlab.verification.subject import Incomparable

MASK_NAMES = (*OTHER_NAMES["mask"], *LENGTHS)


def built(case: Case, **settings: Any) -> Any:
    """The block, ready to be called."""
    block = case.build(**settings)
    return block.eval() if isinstance(block, nn.Module) else block


def required(block: Any) -> list[str]:
    """What a block cannot be called without, but for a mask."""
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = own_signature(getattr(block, "forward", block)).parameters.values()
    return [p.name for p in parameters if p.kind in plain and p.default is p.empty and p.name not in MASK_NAMES]


def takes(case: Case, setting: str) -> bool:
    """Whether the subject can be built with this setting, and not only without it."""
    implementation = case.subject.implementation
    if isinstance(implementation, nn.Module):
        return setting in case.subject.fixed
    parameters = settings_of(implementation)
    return setting in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def arguments(block: Any) -> list[str]:
    """The names of what a block is called with."""
    return list(own_signature(getattr(block, "forward", block)).parameters)


def mask_name(block: Any) -> str | None:
    return next((name for name in MASK_NAMES if name in arguments(block)), None)


def look(block: Any, *inputs: Tensor, mask: Tensor | None = None) -> Tensor:
    """What a block gives for queries, keys, values and a mask. Of several results, the first counts."""
    name = mask_name(block)
    if mask is not None and name is None:
        raise Incomparable(f"it is called with {', '.join(arguments(block))}, none of which is a mask")
    return first(block(*inputs) if mask is None else block(*inputs, mask=mask))


def first(result: Any) -> Tensor:
    tensor: Tensor = result[0] if isinstance(result, tuple) else result
    return tensor
