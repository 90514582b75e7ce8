"""What attention costs: operations and memory that grow with the square of the length."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from gradlab.nn import attention as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.families.attention.calling import built, look
from gradlab.verification.families.attention.kinds import DOT, SCALED


class _Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every tensor that is computed, and keeps the number of entries of the largest."""

    entries = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.entries = max(self.entries, result.numel())
        return result


def _cost(block: Any, n: int, d: int) -> tuple[int, int]:
    """FLOPs of products, and entries of the largest tensor, for n queries, keys and values of d numbers each."""
    from torch.utils.flop_counter import FlopCounterMode  # imports the compiler

    x = torch.ones(1, n, d, dtype=torch.float64)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as flops, _Largest() as largest:  # type: ignore[no-untyped-call]
        look(block, x, x, x)
    return flops.get_total_flops(), largest.entries


@law(DOT, SCALED, id="quadratic-cost", fault=lambda **_: ours.LinearAttention())
def twice_the_length_costs_four_times_as_much(case: Case) -> float:
    """4 n² d operations, and n² weights in memory: O(n²) both"""
    d = case.integer("d", 1, 6)
    n = case.integer("n", d, 3 * d)
    return float(sum(abs(a - b) for a, b in zip(_cost(built(case), n, d), (4 * n**2 * d, n**2), strict=True)))
