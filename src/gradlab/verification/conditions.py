"""Under which conditions a user's module is compared with its twin again, beside the plain one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

SIZES_OF_BATCHES = ("batch", "batch 0", "size 0")
"""The names under which checks draw how many examples there are."""


@dataclass(frozen=True)
class Condition:
    """What is different about a case."""

    name: str = ""
    numbers: Sequence[float] = ()
    """Some entries of every input are among these."""

    smooth: bool = True
    """Whether gradients by the inputs are compared: at exactly 0 many functions have a kink."""

    strided: bool = False
    """Inputs lie in memory with gaps between their entries."""

    empty: bool = False
    """Inputs have no examples."""

    training: bool | None = None
    """Every call is in this mode."""

    again: bool = False
    """Other inputs were given to it before."""

    dtype: torch.dtype | None = None

    def of(self, module: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
        """How a module is called under this condition."""

        @wraps(forward)
        def call(*args: Any, **options: Any) -> Any:
            if self.training is not None:
                module.train(self.training)
            if self.again:
                _try(forward, [_other(value) for value in args], {k: _other(value) for k, value in options.items()})
                _try(forward, [_short(value) for value in args], {k: _short(value) for k, value in options.items()})
            return forward(*args, **options)

        return call if self.again or self.training is not None else forward


def _try(forward: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> None:
    """A call that is made for what it leaves behind."""
    try:
        with torch.no_grad():
            forward(*args, **options)
    except Exception:  # it was no call that the module is meant for
        return


def _other(value: Any) -> Any:
    return value * 0.5 + 1 if isinstance(value, Tensor) and value.is_floating_point() else value


def _short(value: Any) -> Any:
    """The first of the steps of sequences, (batch, steps, …)."""
    return value[:, :1] if isinstance(value, Tensor) and value.ndim > 2 else value


PLAIN = Condition()
CONDITIONS = (
    Condition("with zeros", numbers=(0.0,), smooth=False),
    Condition("with ±1,000", numbers=(1000.0, -1000.0)),
    Condition("not contiguous", strided=True),
    Condition("in training", training=True),
    Condition("at test time", training=False),
    Condition("called before", again=True),
    Condition("no examples", empty=True),
    Condition("in float32", dtype=torch.float32),
    Condition("in bfloat16", dtype=torch.bfloat16),
)
