"""Attention by itself on one device: JSON lines in, JSON lines out, as in `bench/worker.py`."""

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.bench.attention.alone import FIGURES, NUM_FEATURES, PEERS, SAME_WORK
from gradlab.bench.attention.model import WrittenOutAttention
from gradlab.bench.attention.peers import Attend, peer
from gradlab.bench.device import copied_bytes_per_second, device_name, product_flops_per_second, versions
from gradlab.errors import is_out_of_memory, one_line
from gradlab.nn.attention import LinearAttention, PerformerAttention, ScaledDotAttention

_REPEATS, _WARM_UP, _DRAWINGS = 20, 3, 8
_CHECKED = 1024  # tokens of the text on which kinds are compared whose reference costs more than the length
_FAR = 0.01  # of a peer in float32, in which all must agree: further away is other work


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    asks: dict[str, Callable[..., dict[str, Any]]] = {"device": about, "pass": one_pass, "estimates": estimates}
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps(asks[request.pop("ask")](**request)) + "\n")


def about(dtypes: Sequence[str], device: str) -> dict[str, Any]:
    """The device, and how fast it copies and multiplies, in 10¹² a second."""
    place = torch.device(device)
    return {
        "device": device_name(place),
        "versions": versions("flash-linear-attention"),
        "copy": copied_bytes_per_second(place) / 1e12,
        "products": {name: product_flops_per_second(place, getattr(torch, name)) / 1e12 for name in dtypes},
    }


def one_pass(
    kind: str, length: int, tokens: int, heads: int, dim: int, dtype: str, device: str
) -> dict[str, float | str | None]:
    """Milliseconds, eager and replayed, and GiB of a pass forward and backward, and its error."""
    figures: dict[str, float | str | None] = dict.fromkeys(FIGURES)
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
    try:
        if kind in PEERS and not (far := _other_work(kind, min(_CHECKED, tokens), heads, dim, device)) <= _FAR:
            return {**figures, "reason": f"does other work: in float32 its error is {far:.2g}"}
        attend, exact = _attention(kind, dim, device)
        linear = SAME_WORK.get(kind, kind) == "linear-causal"
        shape = (tokens // length, length) if linear else (1, min(_CHECKED, tokens))
        figures["error"] = _error(attend, exact, _inputs(*shape, heads, dim, dtype, device))
        inputs = _inputs(tokens // length, length, heads, dim, dtype, device)
        incoming = torch.randn_like(inputs[0])

        def step() -> None:
            torch.autograd.grad(attend(*inputs), inputs, incoming)

        step()
        before = _peak_from_now(device)
        step()
        peak = torch.cuda.max_memory_allocated() - before if device == "cuda" else 0
        times = {"milliseconds": _median(step, device), "replayed": _replayed(step) if device == "cuda" else None}
        return {**figures, **times, "gibibytes": peak / 2**30}
    except Exception as failure:
        if is_out_of_memory(failure):
            return {**figures, "reason": "out of memory"}
        if kind not in PEERS:
            raise
        return {**figures, "reason": f"failed: {one_line(failure).rstrip('.')}"}


def estimates(
    counts: Sequence[int], spreads: Sequence[float], tokens: int, heads: int, dim: int, device: str
) -> dict[str, Any]:
    """Errors of Performers beside softmax attention: means over a few drawings of the directions."""
    results = []
    for spread in spreads:
        q, k, v = (x.detach() for x in _inputs(1, min(_CHECKED, tokens), heads, dim, "float32", device))
        q, k = q * spread**0.5, k * spread**0.5  # so that scores have that standard deviation
        wanted = ScaledDotAttention()(q, k, v, is_causal=True).double()
        for count in counts:
            errors = []
            for seed in range(_DRAWINGS):
                torch.manual_seed(seed)
                outputs = PerformerAttention(dim, count).to(device)(q, k, v, is_causal=True)
                errors.append(_far(outputs, wanted))
            results.append({"features": count, "spread": spread, "error": sum(errors) / len(errors)})
    return {"estimates": results}


def _attention(kind: str, dim: int, device: str) -> tuple[Attend, Attend]:
    """What is measured, and what it must give: our module in float64, which no kernel is for."""
    torch.manual_seed(0)
    ours = SAME_WORK.get(kind, kind)
    name, causal = ours.removesuffix("-causal"), ours not in ("linear", "performer")
    blocks: dict[str, Callable[[], nn.Module]] = {
        "softmax": ScaledDotAttention,
        "written-out": WrittenOutAttention,
        "performer": lambda: PerformerAttention(dim, NUM_FEATURES).to(device),
    }
    block = blocks.get(name, LinearAttention)()

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        outputs: Tensor = block(q, k, v, is_causal=True) if causal else block(q, k, v)
        return outputs

    def exact(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        block.double()
        try:
            return attend(q, k, v)
        finally:
            block.float()

    return peer(kind, compiled=device == "cuda") if kind in PEERS else attend, exact


@cache
def _other_work(kind: str, length: int, heads: int, dim: int, device: str) -> float:
    """How far a peer is from us in float32."""
    _, exact = _attention(SAME_WORK[kind], dim, device)
    return _error(peer(kind, compiled=False), exact, _inputs(1, length, heads, dim, "float32", device))


def _inputs(batch: int, length: int, heads: int, dim: int, dtype: str, device: str) -> list[Tensor]:
    """As a layer has them: heads beside each other in a row."""
    torch.manual_seed(1)
    shape = batch, length, heads, dim
    drawn = (torch.randn(shape, device=device, dtype=getattr(torch, dtype)).transpose(1, 2) for _ in range(3))
    return [x.requires_grad_() for x in drawn]


def _error(attend: Attend, exact: Attend, inputs: list[Tensor]) -> float:
    """The largest relative error of outputs and gradients."""
    incoming = torch.randn_like(inputs[0])

    def results(function: Attend, tensors: list[Tensor]) -> list[Tensor]:
        outputs = function(*tensors)
        return [outputs.detach(), *torch.autograd.grad(outputs, tensors, incoming.to(outputs.dtype))]

    computed = results(attend, inputs)
    wanted = results(exact, [x.detach().double().requires_grad_() for x in inputs])
    return max(map(_far, computed, wanted))


def _far(computed: Tensor, wanted: Tensor) -> float:
    return float((computed.double() - wanted).norm() / wanted.norm())


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


def _replayed(step: Callable[[], None]) -> float | None:
    """Milliseconds of the same as a CUDA graph; None of what cannot be recorded."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    try:
        with torch.cuda.graph(graph, stream=stream):
            step()
    except RuntimeError as failure:
        if is_out_of_memory(failure):
            raise
        torch.cuda.synchronize()
        return None
    return _median(graph.replay, "cuda")


def _peak_from_now(device: str) -> int:
    if device != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


if __name__ == "__main__":
    main()
