"""Attention by itself on one device: JSON lines in, JSON lines out, as in `worker`."""

import json
import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from gradlab.bench.device import copied_bytes_per_second, device_name, versions
from gradlab.errors import is_out_of_memory
from gradlab.nn.attention import LinearAttention, PerformerAttention, ScaledDotAttention

_REPEATS, _WARM_UP = 20, 3
_CHECKED = 1024  # tokens of the texts on which outputs and gradients are compared: as many for all kinds
_FEATURES = 256


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    setting: dict[str, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        what = asked.pop("ask")
        if what == "device":
            setting = asked
            answer = about(**setting)
        elif what == "pass":
            answer = one_pass(**asked, **setting)
        else:
            answer = {"errors": [performer_error(count, **setting) for count in asked["counts"]]}
        answers.write(json.dumps(answer) + "\n")


def about(tokens: int, heads: int, dim: int, dtype: str, device: str) -> dict[str, Any]:
    """The device, how fast it copies, and the least time: 4 tensors forward, 8 backward, each once."""
    number = tokens * heads * dim
    place = torch.device(device)
    copy = copied_bytes_per_second(place) / 1e12
    size = torch.empty((), dtype=getattr(torch, dtype)).element_size()
    return {
        "device": device_name(place),
        "versions": versions(),
        "copy": copy,
        "floor": 1e3 * 12 * number * size / (copy * 1e12),
    }


def one_pass(
    kind: str, length: int, tokens: int, heads: int, dim: int, dtype: str, device: str
) -> dict[str, float | None]:
    """Milliseconds and GiB of a pass forward and backward, and its error."""
    block, causal = _block(kind, dim, device)
    error = _error(block, causal, min(_CHECKED, tokens), heads, dim, dtype, device)
    try:
        inputs = _inputs(tokens // length, length, heads, dim, dtype, device)
        incoming = torch.randn_like(inputs[0])

        def step() -> None:
            torch.autograd.grad(block(*inputs, is_causal=True) if causal else block(*inputs), inputs, incoming)

        step()
        before = _peak_from_now(device)
        step()
        peak = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
        return {"milliseconds": _median(step, device), "gibibytes": peak / 2**30, "error": error}
    except Exception as failure:
        if not is_out_of_memory(failure):
            raise
        return {"milliseconds": None, "gibibytes": None, "error": error}


def performer_error(count: int, tokens: int, heads: int, dim: int, dtype: str, device: str) -> float:
    """Mean over a few drawings of the directions."""
    q, k, v = (x.detach().float() for x in _inputs(1, min(_CHECKED, tokens), heads, dim, "float32", device))
    wanted = ScaledDotAttention()(q, k, v, is_causal=True)
    errors = []
    for seed in range(4):
        torch.manual_seed(seed)
        found = PerformerAttention(dim, count).to(device)(q, k, v, is_causal=True)
        errors.append(_far(found, wanted))
    return sum(errors) / len(errors)


def _block(kind: str, dim: int, device: str) -> tuple[torch.nn.Module, bool]:
    torch.manual_seed(0)
    name, causal = kind.removesuffix("-causal"), kind.endswith("-causal") or kind == "softmax"
    if name == "softmax":
        return ScaledDotAttention(), causal
    return (LinearAttention() if name == "linear" else PerformerAttention(dim, _FEATURES).to(device)), causal


def _inputs(batch: int, length: int, heads: int, dim: int, dtype: str, device: str) -> list[Tensor]:
    """As a layer has them: heads beside each other in a row."""
    torch.manual_seed(1)
    shape = batch, length, heads, dim
    drawn = (torch.randn(shape, device=device, dtype=getattr(torch, dtype)).transpose(1, 2) for _ in range(3))
    return [x.requires_grad_() for x in drawn]


def _error(block: torch.nn.Module, causal: bool, length: int, heads: int, dim: int, dtype: str, device: str) -> float:
    """The largest relative error of outputs and gradients beside float64, where no kernel is for it."""
    inputs = _inputs(1, length, heads, dim, dtype, device)
    incoming = torch.randn_like(inputs[0])

    def results(module: torch.nn.Module, *given: Tensor) -> list[Tensor]:
        outputs = module(*given, is_causal=True) if causal else module(*given)
        return [outputs, *torch.autograd.grad(outputs, given, incoming.to(outputs.dtype))]

    found = results(block, *inputs)
    wanted = results(block.double(), *(x.detach().double().requires_grad_() for x in inputs))
    block.float()
    return max(map(_far, found, wanted))


def _far(found: Tensor, wanted: Tensor) -> float:
    return float((found.double() - wanted).norm() / wanted.norm())


def _median(step: Callable[[], Any], device: str) -> float:
    """Milliseconds. On a GPU by its own clock, with all steps in its queue."""
    for _ in range(_WARM_UP):
        step()
    if device != "cuda":
        taken = []
        for _ in range(_REPEATS // 4):
            began = time.perf_counter()
            step()
            taken.append(1e3 * (time.perf_counter() - began))
        return sorted(taken)[len(taken) // 2]
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(_REPEATS + 1)]  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    return float(sorted(a.elapsed_time(b) for a, b in pairwise(marks))[_REPEATS // 2])


def _peak_from_now(device: str) -> int:
    if device != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


if __name__ == "__main__":
    main()
