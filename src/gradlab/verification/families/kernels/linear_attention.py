"""Linear attention by kernels: all keys at once, texts behind each other, and in parts from state to state."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab import scratch
from gradlab.kernels.linear_attention import linear_attention
from gradlab.nn.blocks import settings_of
from gradlab.scratch.features import elu_plus_one, positive
from gradlab.scratch.functions import relu
from gradlab.scratch.linear_attention import weighted
from gradlab.verification.case import Case
from gradlab.verification.checks import Call
from gradlab.verification.comparing import array
from gradlab.verification.families.kernels.calling import LENGTHS, MANY, conform, on_tensors, refuse_float64
from gradlab.verification.subject import Incomparable, subject

KERNEL = "kernel.linear_attention"
MAPS: dict[str, Callable[..., scratch.Tensor]] = {
    "elu": lambda x, omega: elu_plus_one(x),
    "relu": lambda x, omega: relu(x),
    "identity": lambda x, omega: x,
    "exp": lambda x, omega: positive(x / x.shape[-1] ** 0.25, omega),
}

subject(KERNEL)(linear_attention)


def _inputs(case: Case) -> list[Tensor]:
    """Queries, keys and values, whose mean is not 0: a mean of many is then not small."""
    refuse_float64(case)
    n, batch, d = case.choice("length", LENGTHS), case.integer("batch", 1, 2), case.choice("dim", (16, 40))
    # Without a map the features are the entries themselves, and weights must not be negative.
    draw: Any = case.positive if case.choice("feature_map", tuple(MAPS)) == "identity" else case.tensor
    return [*(draw(name, batch, 2, n, d) for name in "qk"), case.positive("v", batch, 2, n, 16, low=-1.0)]


def _build(case: Case, d: int, **settings: Any) -> tuple[Any, dict[str, Any]]:
    """The function, and what its twin must know of it."""
    name = case.drawn["feature_map"]
    omega = case.tensor("omega", 24, d).detach() if name == "exp" else None
    block = case.build(feature_map=name, omega=omega, **settings)
    return block, {"features": lambda x: MAPS[name](x, array(omega))}


def _whole(case: Case) -> Call:
    q, k, v = _inputs(case)
    is_causal, mask = case.flag("is_causal"), None
    if case.flag("masked"):
        mask = case.mask("mask", len(k), k.shape[-2])
    block, options = _build(case, q.shape[-1], is_causal=is_causal)
    visible = _visible([k.shape[-2]], is_causal) & (True if mask is None else array(mask)[:, None, None])
    return Call(lambda *qkv: block(*qkv, mask)[0], (q, k, v), options=options | {"mask": visible})


def _packed(case: Case) -> Call:
    q, k, v = (x[:1].detach().requires_grad_() for x in _inputs(case))
    cuts = sorted({0, q.shape[-2], *(case.integer(f"cut {i}", 0, q.shape[-2]) for i in range(2))})
    lengths = [end - start for start, end in pairwise(cuts)]
    is_causal = case.flag("is_causal")
    block, options = _build(case, q.shape[-1], is_causal=is_causal, lengths=lengths)
    return Call(lambda *qkv: block(*qkv)[0], (q, k, v), options=options | {"mask": _visible(lengths, is_causal)})


def _in_parts(case: Case) -> Call:
    """A prompt, two single positions, and the rest. No gradient passes through a state."""
    if "state" not in settings_of(case.subject.implementation):
        raise Incomparable("it takes no state")
    q, k, v = (x.detach() for x in _inputs(case))
    n = q.shape[-2]
    block, options = _build(case, q.shape[-1], is_causal=True)
    prompt = case.integer("prompt", 0, n)
    cuts = sorted({0, *(min(prompt + i, n) for i in range(3)), n})

    def parts(*qkv: Tensor) -> Tensor:
        outputs, state = [], None
        for start, end in pairwise(cuts):
            output, state = block(*(x[..., start:end, :] for x in qkv), state=state)
            outputs.append(output)
        return torch.cat(outputs, -2)

    return Call(parts, (q, k, v), options=options | {"mask": _visible([n], is_causal=True)})


def _visible(lengths: Sequence[int], is_causal: bool) -> Any:
    """Where a query may look: at keys of its own text, and if it is causal not at later ones."""
    text = np.repeat(np.arange(len(lengths)), lengths)
    same = text[:, None] == text
    return np.tril(same) if is_causal else same


conform(KERNEL, _whole, twin=weighted, most_cases=MANY)
conform(KERNEL, _packed, twin=weighted, about="texts behind each other", most_cases=MANY)
conform(KERNEL, _in_parts, twin=weighted, twin_call=on_tensors(weighted), about="from state to state", most_cases=MANY)
