"""Replayed steps compared with eager ones from the same state, bit for bit."""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from gradlab.process import free_memory
from gradlab.run.checkpoint import rng_state, set_rng_state

Tensors = Sequence[Tensor]
Computed = Callable[[], Tensors]
"""Makes steps, and returns what they computed apart from the state: losses, counts and norms of gradients."""

Outcomes = tuple[list[Tensor], dict[str, str]]
"""The state with what was computed, and where the generators stand."""

_COPIES = 6  # of the state: before, after a replay, after one or two eager steps, and in two checkpoints
_NOISE = 8.0  # times as far as two eager steps may be from each other


class ReplayDiffers(Exception):
    """A replay does not compute what the eager step does, or no longer does."""


def compare_replay(
    state: Tensors, place: torch.device, device: torch.device, replayed: Computed, eager: Computed
) -> str:
    """Make steps twice from one state; what differs, or "". The state is left as the eager steps make it.

    Copies of the state are in memory of the `place`, see `find_room`.

    Steps whose result is not the same twice, since sums are added in any order, are made eagerly once more: a replay
    may then differ as they do among themselves.
    """
    before, generators = _copies(state, place), rng_state(device)

    def run(compute: Computed) -> Outcomes:
        for tensor, was in zip(state, before, strict=True):
            tensor.copy_(was)
        set_rng_state(generators, device)
        computed = compute()
        return _copies([*state, *computed], place), rng_state(device)

    by_replay, by_eager = run(replayed), run(eager)
    if _same(by_replay, by_eager):
        return ""
    once_more = run(eager)
    if _same(by_eager, once_more):
        return "a replayed step computes something else than the eager one"
    noise, distances = _distances(by_eager[0], once_more[0]), _distances(by_replay[0], by_eager[0])
    near = max(distances) <= _NOISE * max(noise) and by_replay[1] == by_eager[1]
    return "" if near else "a replayed step is further from the eager one than another eager one is"


def distinct(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Each memory once, detached."""
    return list({(t.data_ptr(), t.shape, t.stride(), t.dtype): t.detach() for t in tensors}.values())


def find_room(state: Tensors, device: torch.device) -> torch.device | None:
    """Where there is memory for copies of the state and a checkpoint: on the device, on the host, or nowhere."""
    needed = _COPIES * sum(tensor.nbytes for tensor in state)
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        if needed <= torch.cuda.mem_get_info(device)[0] + unused:
            return device
    return torch.device("cpu") if needed <= free_memory() else None


def _copies(tensors: Tensors, place: torch.device) -> list[Tensor]:
    return [tensor.detach().to(place, copy=True) for tensor in tensors]


def _same(one: Outcomes, other: Outcomes) -> bool:
    """Every bit, so that NaN equals itself, and the generators."""
    return one[1] == other[1] and all(map(torch.equal, map(_bits, one[0]), map(_bits, other[0])))


def _bits(tensor: Tensor) -> Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _distances(one: Tensors, other: Tensors) -> list[float]:
    """The largest difference in each tensor, relative to its largest number."""
    return [_distance(_real(a), _real(b)) for a, b in zip(one, other, strict=True)]


def _real(tensor: Tensor) -> Tensor:
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()


def _distance(a: Tensor, b: Tensor) -> float:
    if not a.numel() or torch.equal(a, b):
        return 0.0
    distance = ((a - b).abs().max() / a.abs().max().clamp(min=torch.finfo(torch.float32).tiny)).item()
    return distance if distance == distance else float("inf")
