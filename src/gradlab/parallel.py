"""Several processes that train one model together, each on its part of every batch: what they exchange.

`torchrun` starts them and says in the environment which is which; `joined` makes them a group. In a single process
everything here is the identity, and torch.distributed is not imported.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from gradlab.errors import GradlabError, SharedError, TrainingError

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")

_PATIENCE = timedelta(minutes=30)  # for the slowest: the first of them may convert the data while others wait
_joined = False
_ringing, _rung = False, False  # whether this process wants to be heard, and whether any of them did


@dataclass(frozen=True)
class Launch:
    """What `torchrun` states in the environment of each process: how many there are, and which one this is."""

    world_size: int = 1
    rank: int = 0
    local_rank: int = 0

    @classmethod
    def read(cls) -> "Launch":
        """That of this process; variables that no torchrun would set are refused."""
        world_size = _read_number("WORLD_SIZE", 1, least=1)
        if world_size == 1:
            return cls()
        rank = _read_number("RANK", 0, least=0)
        if rank >= world_size:
            raise GradlabError(f"RANK={rank} must be less than WORLD_SIZE={world_size}. {_TORCHRUN}")
        return cls(world_size, rank, _read_number("LOCAL_RANK", 0, least=0))

    def check_complete(self) -> None:
        """Refuse an environment that does not state where the processes find each other."""
        missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
        if missing:
            variables = " and no ".join(missing)
            raise GradlabError(f"WORLD_SIZE={self.world_size}, but the environment has no {variables}. {_TORCHRUN}")
        _read_number("MASTER_PORT", 0, least=0)


_TORCHRUN = "Start several processes with torchrun, which sets them all, or unset them: unset WORLD_SIZE RANK"


def _read_number(name: str, default: int, least: int) -> int:
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < least:
        raise GradlabError(f"{name}={text!r} in the environment must be a whole number from {least}. {_TORCHRUN}")
    return int(text)


def count() -> int:
    """How many processes train together."""
    return Launch.read().world_size if _joined else 1


def rank() -> int:
    """Which of them this is; the first, 0, writes and prints."""
    return Launch.read().rank if _joined else 0


@contextmanager
def joined() -> Iterator[None]:
    """Meanwhile the processes that `torchrun` started are one group: by NCCL on GPUs, by gloo elsewhere."""
    global _joined, _ringing, _rung
    launch = Launch.read()
    if launch.world_size == 1 or _joined:
        yield
        return
    launch.check_complete()
    import torch
    import torch.distributed.nn.functional  # later, its defaults would hold the group, whose threads must end first
    from torch import distributed

    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(launch.local_rank % torch.cuda.device_count())
    own = not distributed.is_initialized()
    if own:
        distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=_PATIENCE)
    _joined, _ringing, _rung = True, False, False
    try:
        yield
    finally:
        _joined = False
        if own and distributed.is_initialized():
            distributed.destroy_process_group()


@contextmanager
def alone() -> Iterator[None]:
    """Meanwhile this process computes by itself, as the first does for a report that the others know nothing of."""
    global _joined
    before, _joined = _joined, False
    try:
        yield
    finally:
        _joined = before


@contextmanager
def _together() -> Iterator[None]:
    """Turns what torch says when another process is gone into an error that says what to do."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if isinstance(error, GradlabError):
            raise
        raise TrainingError(
            f"Another of the {count()} processes that train together has ended, so that this one (rank {rank()}) ends "
            "too. Its own message, if it left one, says why. The run goes on from its last checkpoint with: gradlab "
            "resume RUN, in any number of processes."
        ) from None


# What is said.


def first(make: Callable[[], T]) -> T:
    """What the first process makes, for all of them; an error of it is everybody's. It must be plain as JSON is."""
    if count() == 1:
        return make()
    value: Any = None
    problem: str | None = None
    if rank() == 0:
        try:
            value = make()
        except GradlabError as error:
            problem = str(error)
    value, problem = every([value, problem])[0]
    if problem is not None:
        raise SharedError(problem)
    return value  # type: ignore[no-any-return]


def every(value: T) -> list[T]:
    """The values of all processes, in their order. They must be plain as JSON is."""
    if count() == 1:
        return [value]
    import torch

    content = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
    return [json.loads(bytes(other.numpy())) for other in _gathered(content)]


def check_same(what: str, content: str) -> None:
    """Refuse to go on where processes would train different things."""
    if count() == 1:
        return
    digests = every(hashlib.sha256(content.encode()).hexdigest())
    others = [i for i, digest in enumerate(digests) if digest != digests[0]]
    if others:
        raise SharedError(
            f"The processes do not have the same {what}: rank {others[0]} differs from rank 0. Give all of them the "
            "same command, files and versions."
        )


def sums(values: Any) -> Any:
    """Numbers summed over the processes: a list, or a dictionary with the same keys in all of them."""
    if count() == 1:
        return values
    import torch
    from torch import distributed

    names = list(values) if isinstance(values, dict) else range(len(values))
    total = torch.tensor([float(values[name]) for name in names], dtype=torch.float64)
    with _together():
        distributed.all_reduce(total)
    return dict(zip(names, total, strict=True)) if isinstance(values, dict) else list(total)


def summed(tensor: "Tensor") -> "Tensor":
    """The sum of a tensor over the processes, in memory of its own."""
    from torch import distributed

    total = tensor.clone()
    with _together():
        distributed.all_reduce(total)
    return total


def merged(part: "Tensor", merge: Callable[["Tensor", "Tensor"], "Tensor"]) -> "Tensor":
    """Totals of a metric from all processes as one, in their order, so that all have the same bits."""
    total, *others = _gathered(part.cpu().contiguous())
    for other in others:
        total = merge(total, other)
    return total


def _gathered(mine: "Tensor") -> "list[Tensor]":
    """A tensor of each process; they may have different shapes."""
    import torch
    from torch import distributed

    shape = torch.tensor(mine.shape, dtype=torch.int64)
    shapes = [torch.zeros_like(shape) for _ in range(count())]
    with _together():
        distributed.all_gather(shapes, shape)
        gathered = [
            mine if i == rank() else torch.zeros(tuple(s.tolist()), dtype=mine.dtype) for i, s in enumerate(shapes)
        ]
        for i, tensor in enumerate(gathered):
            distributed.broadcast(tensor, i)
    return gathered


# Who does what.


def share(split: T) -> T:
    """This process's part of a split, a run of neighbours; the split itself where it cannot be parted."""
    if count() == 1 or not hasattr(split, "subset") or len(split) < count():  # type: ignore[arg-type]
        return split
    import numpy as np

    rows = np.array_split(np.arange(len(split)), count())[rank()]  # type: ignore[arg-type]
    part: T = split.subset(rows)
    return part


def sum_up(tensors: "Sequence[Tensor]", model: "nn.Module") -> None:
    """Tensors summed over the processes, in place; buffers of the model, such as running means, become their mean.

    One exchange for all of a type: many small ones would each cost a round trip. Buffers are summed in double
    precision, in which the mean of equal numbers is that number: a table that is given stays as it is.
    """
    global _ringing, _rung
    import torch
    from torch import distributed

    buffers = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    means = [buffer.to(torch.float64, copy=True) for buffer in buffers]
    bell, _ringing = torch.tensor([float(_ringing)], dtype=torch.float64, device=tensors[0].device), False
    by_type: dict[torch.dtype, list[Tensor]] = {}
    for tensor in (bell, *tensors, *means):
        by_type.setdefault(tensor.dtype, []).append(tensor)
    with _together(), torch.no_grad():
        for alike in by_type.values():
            flat = torch.cat([tensor.reshape(-1) for tensor in alike])
            distributed.all_reduce(flat)
            for tensor, part in zip(alike, torch.split(flat, [t.numel() for t in alike]), strict=True):
                tensor.copy_(part.view_as(tensor))
        for buffer, mean in zip(buffers, means, strict=True):
            buffer.copy_(mean / count())
    _rung = _rung or bool(bell)


def ring() -> None:
    """Ask all processes to listen to each other after the step that they are in. See `rung`."""
    global _ringing
    _ringing = True


def rung() -> bool:
    """Whether one of them has asked so since this was called last: all hear the same.

    It is sent along with the gradients, and costs no exchange of its own.
    """
    global _rung
    heard, _rung = _rung, False
    return heard


def same_weights(model: "nn.Module") -> None:
    """Every process goes on with the weights of the first."""
    if count() == 1:
        return
    from torch import distributed

    with _together():
        for tensor in model.state_dict().values():
            distributed.broadcast(tensor, 0)
