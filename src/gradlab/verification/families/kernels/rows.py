"""What happens to a few rows between two steps of decoding: sums, normalisation, affine maps, and the largest logit."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab import scratch
from gradlab.kernels import run_on
from gradlab.scratch.dense import dense
from gradlab.scratch.functions import gelu, gelu_tanh
from gradlab.scratch.normalisation import layer_norm, rms_norm
from gradlab.verification.case import Case
from gradlab.verification.checks import Call
from gradlab.verification.families.kernels.calling import LENGTHS, conform, module, on_tensors, refuse_float64
from gradlab.verification.subject import subject

BENDS = {"none": lambda x: x, "gelu": gelu, "gelu_tanh": gelu_tanh}


@subject("kernel.add_norm")
def add_norm(
    x: Tensor, delta: Tensor, gain: Tensor, shift: Tensor | None, *, norm: str, eps: float
) -> tuple[Tensor, Tensor]:
    sums = module("add_norm")
    form = sums.add_norm if run_on(x.device) else sums.plain_add_norm
    summed: tuple[Tensor, Tensor] = form(x, delta, norm, gain, shift, eps)
    return summed


@subject("kernel.add_norm_affine")
def add_norm_affine(
    x: Tensor,
    delta: Tensor,
    gain: Tensor,
    shift: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    *,
    norm: str,
    eps: float,
    bend: str,
) -> tuple[Tensor, Tensor]:
    sums = module("add_norm")
    form = sums.add_norm_affine if run_on(x.device) else sums.plain_add_norm_affine
    summed: tuple[Tensor, Tensor] = form(x, delta, norm, gain, shift, eps, weight, bias, bend)
    return summed


@subject("kernel.affine")
def affine(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    mapped: Tensor = (module("add_norm").affine if run_on(x.device) else F.linear)(x, weight, bias)
    return mapped


@subject("kernel.product")
def few_rows(x: Tensor, weight: Tensor, bias: Tensor | None, *, bend: str) -> Tensor:
    if run_on(x.device):
        bent: Tensor = module("product").product(x, weight, bias, bend)
    else:
        bent = module("add_norm").plain_bent(F.linear(x, weight, bias), bend)
    return bent


@subject("kernel.peak")
def peak(logits: Tensor) -> tuple[Tensor, Tensor]:
    """The first of the largest logits of each row, one-hot, and that logit."""
    rows, size = logits.shape
    if not run_on(logits.device):
        peaks, tokens = logits.max(-1)
        return F.one_hot(tokens, size).double(), peaks
    page, chosen = torch.zeros(rows, 1, dtype=torch.int64), torch.zeros(rows, 1, dtype=torch.int64)
    peaks, position = torch.zeros(1, rows), torch.zeros(1, dtype=torch.int64)
    module("peak").write_peak(logits, page, peaks, position, chosen)
    return F.one_hot(chosen[:, 0], size).double(), peaks[0]


# What they are called with, and their twins


def _row(case: Case, name: str, *shape: int, scale: float = 1.0) -> Tensor:
    return case.tensor(name, *shape, scale=scale).detach()


def _summed(case: Case) -> tuple[list[Any], dict[str, Any]]:
    """x, delta, gain and shift, with the settings of a normalisation."""
    refuse_float64(case)
    rows, dim, norm = case.integer("rows", 1, 3), case.choice("dim", LENGTHS[1:]), case.choice("norm", ("layer", "rms"))
    shift = _row(case, "shift", dim) if norm == "layer" else None
    numbers = [_row(case, "x", rows, dim), _row(case, "delta", rows, dim), _row(case, "gain", dim), shift]
    return numbers, {"norm": norm, "eps": 1e-5}


def _mapped(case: Case, dim: int) -> list[Any]:
    """A weight whose outputs are of the size of 1, and a bias or none."""
    outputs = case.choice("outputs", LENGTHS[:3])
    weight = _row(case, "weight", outputs, dim, scale=dim**-0.5)
    return [weight, _row(case, "bias", outputs) if case.flag("biased") else None]


def _add_norm(case: Case) -> Call:
    numbers, settings = _summed(case)
    return Call(case.build(**settings), numbers, options=settings)


def _add_norm_affine(case: Case) -> Call:
    numbers, settings = _summed(case)
    settings |= {"bend": case.choice("bend", tuple(BENDS))}
    return Call(case.build(**settings), [*numbers, *_mapped(case, numbers[0].shape[1])], options=settings)


def _affine(case: Case) -> Call:
    refuse_float64(case)
    dim = case.choice("dim", (*LENGTHS, 5000))
    return Call(case.build(), [_row(case, "x", case.integer("rows", 1, 3), dim), *_mapped(case, dim)])


def _product(case: Case) -> Call:
    refuse_float64(case)
    dim, settings = case.choice("dim", LENGTHS), {"bend": case.choice("bend", tuple(BENDS))}
    rows = case.choice("rows", (1, 16, 17, 64))
    return Call(case.build(**settings), [_row(case, "x", rows, dim), *_mapped(case, dim)], options=settings)


def _peak(case: Case) -> Call:
    refuse_float64(case)
    return Call(case.build(), [_row(case, "logits", case.integer("rows", 1, 3), case.choice("size", (1, 63, 20011)))])


def _normed(x: Any, delta: Any, gain: Any, shift: Any, *, norm: str, eps: float) -> tuple[scratch.Tensor, ...]:
    total = x + delta
    return total, layer_norm(total, gain, shift, eps) if norm == "layer" else rms_norm(total, gain, eps)


def _normed_map(*numbers: Any, bend: str, **settings: Any) -> tuple[scratch.Tensor, ...]:
    *summed, weight, bias = numbers
    total, y = _normed(*summed, **settings)
    return total, BENDS[bend](dense(y, weight, bias))


def _largest(logits: Any) -> tuple[Any, Any]:
    return np.arange(logits.shape[-1]) == logits.argmax(-1)[:, None], logits.max(-1)


conform("kernel.add_norm", _add_norm, twin=layer_norm, twin_call=on_tensors(_normed))
conform("kernel.add_norm_affine", _add_norm_affine, twin=dense, twin_call=on_tensors(_normed_map))
conform("kernel.affine", _affine, twin=dense, twin_call=on_tensors(dense))
conform(
    "kernel.product", _product, twin=dense, twin_call=on_tensors(lambda *numbers, bend: BENDS[bend](dense(*numbers)))
)
conform("kernel.peak", _peak, twin=np.argmax, twin_call=_largest)
