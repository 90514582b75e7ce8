"""What a model costs: parameters, and floating-point operations of one forward pass."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gradlab.nn.modes import evaluating


def parameter_count(model: nn.Module) -> int:
    """Trainable numbers.

    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def forward_flops(model: nn.Module, inputs: Tensor) -> int:
    """Floating-point operations of one forward pass: two per multiply-add of products and convolutions, the rest free.

    On these, equal to `torch.utils.flop_counter.FlopCounterMode`, which imports the compiler: a second at start.

    >>> forward_flops(nn.Linear(64, 128), torch.zeros(1, 64))
    16384
    """
    return pass_flops(model, lambda: model(inputs))


def pass_flops(model: nn.Module, compute: Callable[[], Any]) -> int:
    """The same of whatever is computed with a model, which is in evaluation mode meanwhile."""
    with evaluating(model), torch.no_grad(), _Counter() as counter:
        compute()
    return int(counter.flops)


class _Counter(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if formula := _FORMULAS.get(function):
            self.flops += formula(result, *args, **(kwargs or {}))
        return result


# Arguments have torch's names, since models may call by name.


def _linear(result: Tensor, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> int:
    return 2 * result.numel() * weight.shape[-1]


def _convolution(result: Tensor, input: Tensor, weight: Tensor, *_: Any, **__: Any) -> int:
    return 2 * result.numel() * math.prod(weight.shape[1:])


def _product(result: Tensor, input: Tensor, *_: Any, **__: Any) -> int:
    return 2 * result.numel() * input.shape[-1]


def _sum_with_product(result: Tensor, input: Tensor, mat1: Tensor, *_: Any, **__: Any) -> int:
    return _product(result, mat1)


def _sum_with_products(result: Tensor, input: Tensor, batch1: Tensor, *_: Any, **__: Any) -> int:
    return _product(result, batch1)


def _attention(result: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> int:
    scores = math.prod(query.shape[:-1]) * key.shape[-2]
    return 2 * scores * (query.shape[-1] + value.shape[-1])


def _recurrence(result: Any, data: Tensor, *others: Any) -> int:
    """Every weight is met once for each step of each sequence."""
    weights: list[Tensor] = next(other for other in others if isinstance(other, list))
    packed = others[1] is not weights  # before them are the state and, where sequences are packed, sizes of batches
    steps = data.shape[0] if packed else math.prod(data.shape[:-1])
    return 2 * steps * sum(weight.numel() for weight in weights if weight.ndim == 2)


_FORMULAS: dict[Any, Callable[..., int]] = {
    F.linear: _linear,
    F.scaled_dot_product_attention: _attention,
    **dict.fromkeys((torch.conv1d, torch.conv2d, torch.conv3d), _convolution),
    **dict.fromkeys((torch.matmul, torch.mm, torch.bmm, Tensor.matmul, Tensor.mm, Tensor.bmm), _product),
    **dict.fromkeys((Tensor.__matmul__, torch.mv, torch.dot), _product),
    **dict.fromkeys((torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu), _recurrence),
    torch.addmm: _sum_with_product,
    torch.baddbmm: _sum_with_products,
}
