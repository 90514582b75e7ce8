"""What a model costs: parameters, and floating-point operations of one forward pass."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils.rnn import PackedSequence
from torch.overrides import TorchFunctionMode

from gradlab.nn.modes import evaluating


def parameter_count(model: nn.Module) -> int:
    """Trainable numbers.

    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def forward_flops(model: nn.Module, inputs: Tensor | PackedSequence) -> int:
    """Floating-point operations of one forward pass: two per multiply-add of products and convolutions, the rest free.

    On these, equal to `torch.utils.flop_counter.FlopCounterMode`, which imports the compiler: a second at start. It is
    asked only for products that are not known here. Recurrent layers and products with vectors, which it does not
    count, are counted here.

    >>> forward_flops(nn.Linear(64, 128), torch.zeros(1, 64))
    16384
    """
    return pass_flops(model, lambda: model(inputs))


class Cost(NamedTuple):
    """Floating-point operations, and the products that they are made of: between two of them threads wait."""

    flops: int
    products: int


def parameter_cost(model: nn.Module) -> Cost:
    """What a pass costs for one example if each weight is used once."""
    return Cost(2 * parameter_count(model), _matrices(model))


def pass_flops(model: nn.Module, compute: Callable[[], Any]) -> int:
    """The same of whatever is computed with a model, which is in evaluation mode meanwhile."""
    return pass_cost(model, compute).flops


def pass_cost(model: nn.Module, compute: Callable[[], Any]) -> Cost:
    """Operations and products of whatever is computed with a model."""
    with evaluating(model), torch.no_grad(), _Counter() as counter:
        compute()
    if not counter.flops and _matrices(model):
        # Matrices that meet no product are met where no function can be seen, as in TorchScript.
        with evaluating(model), torch.no_grad():
            return Cost(_counted_by_torch(compute)[1], _matrices(model))
    return Cost(int(counter.flops), counter.products)


def _matrices(model: nn.Module) -> int:
    return sum(parameter.ndim > 1 for parameter in model.parameters())


class _Counter(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.flops = 0
        self.products = 0

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        call = partial(function, *args, **(kwargs or {}))
        # Of several products, the order is chosen inside.
        if function is torch.linalg.multi_dot or (function is torch.einsum and len(args) > 3):
            formula = None
            result, flops = _counted_by_torch(call)
        else:
            formula = _FORMULAS.get(function)
            result = call()
            flops = formula(result, *args, **(kwargs or {})) if formula else 0
        self.flops += flops
        if flops:
            self.products += _recurrent_products(*args) if formula is _recurrence else 1
        return result


def _counted_by_torch(compute: Callable[[], Any]) -> tuple[Any, int]:
    from torch.utils.flop_counter import FlopCounterMode

    # Of the CPU's fused attention it knows nothing, but the two products that it is made of.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        result = compute()
    return result, counter.get_total_flops()


# Arguments have torch's names, since models may call by name.


def _linear(result: Tensor, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> int:
    return 2 * result.numel() * weight.shape[-1]


def _bilinear(result: Tensor, input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> int:
    """The weights with one input, and what comes of it with the other."""
    return 2 * result.numel() * weight.shape[1] * (weight.shape[2] + 1)


def _convolution(result: Tensor, input: Tensor, weight: Tensor, *_: Any, **__: Any) -> int:
    return 2 * result.numel() * math.prod(weight.shape[1:])


def _transposed_convolution(result: Tensor, input: Tensor, weight: Tensor, *_: Any, **__: Any) -> int:
    return _convolution(input, result, weight)


def _product(result: Tensor, input: Tensor, *_: Any, **__: Any) -> int:
    return 2 * result.numel() * input.shape[-1]


def _sum_with_product(result: Tensor, input: Tensor, *factors: Tensor, **named: Any) -> int:
    """Also of a sum over a batch, in which every factor's entries are met as well."""
    names = ("mat", "mat1", "batch1", "vec", "mat2", "batch2")
    both: list[Tensor] = [*factors, *(named[name] for name in names if name in named)]
    first, second = both
    return 2 * first.numel() * (second.shape[-1] if second.ndim > 1 else 1)


def _contraction(result: Tensor, a: Tensor, b: Tensor, *_: Any, **__: Any) -> int:
    """Sizes i·k and k·j make i·j."""
    return 2 * result.numel() * math.isqrt(a.numel() * b.numel() // max(1, result.numel()))


def _einsum(result: Tensor, equation: str, *operands: Any) -> int:
    """One product of matrices, over the indices that both operands have and the result has not."""
    tensors = operands[0] if isinstance(operands[0], (list, tuple)) else operands
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != 2:
        return 0
    kept = {letter for letter in inputs if inputs.count(letter) == 1 or letter == "."} if not arrow else set(output)
    first, second = (
        {index: size for index, size in zip(_indices(term, x.ndim), x.shape, strict=True) if size > 1}
        for term, x in zip(terms, tensors, strict=True)
    )
    both = first.keys() & second.keys()
    if all(index[0] in kept for index in both):
        return 0  # entry by entry
    sizes: dict[str, int] = first | second
    return 2 * math.prod(size for index, size in sizes.items() if index in both or index[0] in kept)


def _indices(term: str, axes: int) -> list[str]:
    """The index of each axis; those that an ellipsis stands for are numbered from the last."""
    before, ellipsis, after = term.partition("...")
    many = axes - len(before) - len(after) if ellipsis else 0
    return [*before, *(f".{i}" for i in range(many, 0, -1)), *after]


def _attention(result: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> int:
    scores = math.prod(query.shape[:-1]) * key.shape[-2]
    return 2 * scores * (query.shape[-1] + value.shape[-1])


def _multihead_attention(
    result: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    *_: Any,
    **__: Any,
) -> int:
    """Three projections, scores, their sums of values, and one more projection."""
    places, keys = query.numel() // query.shape[-1], key.shape[0] + (bias_k is not None) + add_zero_attn
    projected = query.numel() + key.numel() + value.numel() + places * embed_dim_to_check
    return 2 * embed_dim_to_check * (projected + 2 * places * keys)


def _recurrence(result: Any, data: Tensor, *others: Any) -> int:
    """Every weight is met once for each step of each sequence."""
    weights: list[Tensor] = next(other for other in others if isinstance(other, list))
    packed = others[1] is not weights  # before them are the state and, where sequences are packed, sizes of batches
    steps = data.shape[0] if packed else math.prod(data.shape[:-1])
    return 2 * steps * sum(weight.numel() for weight in weights if weight.ndim == 2)


def _recurrent_products(data: Tensor, *others: Any) -> int:
    """Each layer reads its inputs at once, and its own state step by step."""
    weights: list[Tensor] = next(other for other in others if isinstance(other, list))
    packed = others[1] is not weights
    batch_first = not packed and others[-1]
    steps = len(others[0]) if packed else data.shape[1 if batch_first else 0]
    layers = sum(weight.ndim == 2 for weight in weights) // 2
    return layers * (1 + int(steps))


def _cell(result: Any, input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, *_: Any, **__: Any) -> int:
    return 2 * math.prod(input.shape[:-1]) * (w_ih.numel() + w_hh.numel())


def _named(*names: str) -> list[Any]:
    """Functions of torch by their names, and methods of the same names."""
    return [getattr(owner, name) for name in names for owner in (torch, Tensor) if hasattr(owner, name)]


_FORMULAS: dict[Any, Callable[..., int]] = {
    F.linear: _linear,
    F.bilinear: _bilinear,
    F.scaled_dot_product_attention: _attention,
    F.multi_head_attention_forward: _multihead_attention,
    torch.einsum: _einsum,
    torch.tensordot: _contraction,
    **dict.fromkeys((torch.conv1d, torch.conv2d, torch.conv3d), _convolution),
    **dict.fromkeys((F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d), _transposed_convolution),
    **dict.fromkeys(_named("matmul", "__matmul__", "mm", "bmm", "mv", "dot", "vdot", "inner"), _product),
    **dict.fromkeys((torch.linalg.matmul, torch.linalg.vecdot), _product),
    Tensor.__rmatmul__: lambda result, input, other: _product(result, other),
    **dict.fromkeys(_named("addmm", "addmm_", "addmv", "addmv_", "addbmm", "addbmm_"), _sum_with_product),
    **dict.fromkeys(_named("baddbmm", "baddbmm_"), _sum_with_product),
    **dict.fromkeys((torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu), _recurrence),
    **dict.fromkeys((torch.lstm_cell, torch.gru_cell, torch.rnn_tanh_cell, torch.rnn_relu_cell), _cell),
}
