"""Recording a CUDA graph so that a recording that fails leaves nothing behind."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection meanwhile: a graph that it frees would end the recording of another."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def recording(
    graph: torch.cuda.CUDAGraph, stream: torch.cuda.Stream, pool: Any = None, **options: Any
) -> Iterator[None]:
    """Record what is computed meanwhile instead of computing it; `options` are those of `torch.cuda.graph`.

    Where it fails, torch leaves the current stream, the memory pool and the random generator as they are within a
    recording, so that everything after it would fail too: all three are restored, and the first error is raised.
    """
    device = stream.device
    before, pool = torch.cuda.get_rng_state(device), pool or torch.cuda.graph_pool_handle()
    cause: BaseException | None = None
    with torch.cuda.stream(torch.cuda.current_stream(device)), _no_collection():
        try:
            with torch.cuda.graph(graph, pool=pool, stream=stream, **options):
                try:
                    yield
                except BaseException as error:
                    cause = error
                    raise
        except BaseException as error:
            _discard(pool, stream)
            torch.cuda.set_rng_state(before, device)
            raise cause or error from None


def _discard(pool: Any, stream: torch.cuda.Stream) -> None:
    """End what torch has begun for a recording that the device refused to end."""
    index = stream.device.index
    try:
        torch._C._cuda_endAllocateToPool(index, pool)
    except RuntimeError:  # it ended as usual: what failed was Python
        return
    torch._C._cuda_releasePool(index, pool)
    # The generator counts within a recording until one ends well.
    with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream):
        torch.zeros(1, device=stream.device)
