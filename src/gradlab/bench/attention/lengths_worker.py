"""Training steps of a small GPT at one length: a JSON line in, a JSON line out, as in `bench/worker.py`."""

import json
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
import torch.nn.functional as F

from gradlab.bench.attention.model import one_layer
from gradlab.errors import is_out_of_memory

_STATUS = Path("/proc/self/status")  # on Linux
_VOCABULARY, _DIM, _HEADS = 65, 128, 4
_WARM_UP = 16  # tokens: what the first step of a process loads is not the length's
_STEPS, _SECONDS = 20, 1.0  # the most steps, unless so much time is gone before


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    # Not prepared as for a training, which keeps freed memory: a peak is to be a step's, not what others have left.
    request = json.loads(sys.stdin.readline())
    answers.write(json.dumps(measure(**request)) + "\n")


def measure(mechanism: str, length: int, device: str, memory: float) -> dict[str, float | None]:
    """Milliseconds of a step, forward and backward, and MiB at its peak, or None if it takes more than `memory` GiB."""
    place = torch.device(device)
    torch.manual_seed(0)
    model = one_layer(mechanism, vocabulary=_VOCABULARY, dim=_DIM, heads=_HEADS).to(place)
    tokens = torch.randint(_VOCABULARY, (length + 1,), device=place)

    def step(size: int) -> float:
        began = time.perf_counter()
        logits = model(tokens[None, :size])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[1 : size + 1])
        loss.backward()  # type: ignore[no-untyped-call]
        model.zero_grad()
        if place.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    step(_WARM_UP)
    try:
        before = _limited(place, memory)
        seconds = _least(lambda: step(length))
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return {"milliseconds": None, "mebibytes": None}
    return {"milliseconds": 1e3 * seconds, "mebibytes": (_peak(place) - before) / 2**20}


def _least(step: Callable[[], float]) -> float:
    """The first step brings memory in; it counts where there is no time for another."""
    taken = [step()]
    while len(taken) < _STEPS and sum(taken) < _SECONDS:
        taken.append(step())
    return min(taken)


def _limited(device: torch.device, memory: float) -> float:
    """Let this process have so many GiB beyond what it has, and give the bytes it has."""
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, memory * 2**30 / total))
        torch.cuda.reset_peak_memory_stats()
    elif _STATUS.exists():
        import resource

        most = _status("VmSize") + int(memory * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
        with suppress(OSError):  # where the kernel lets it be reset, an earlier peak does not hide this one
            Path("/proc/self/clear_refs").write_text("5")
    return _peak(device)


def _peak(device: torch.device) -> float:
    """The most bytes this process has had at once."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    if _STATUS.exists():
        return _status("VmHWM")  # ru_maxrss begins with the peak of the process that started this one
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status(name: str) -> int:
    """Bytes, as the kernel counts them for this process."""
    match = re.search(rf"{name}:\s+(\d+) kB", _STATUS.read_text())
    assert match is not None
    return 1024 * int(match[1])


if __name__ == "__main__":
    main()
