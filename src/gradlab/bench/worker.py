"""One contestant in a process of its own: JSON lines in, JSON lines out.

The first line in names the contestant and the case; the answer is `{}` once imports, data and a warm-up are done. Each
further line asks for one training, answered by its figures. Other versions of gradlab ask too, and are asked
(`against.py`): these lines may not change.
"""

import gc
import json
import os
import pkgutil
import sys
import time
from typing import TYPE_CHECKING, Any

from gradlab.bench.cases import Case
from gradlab.bench.contestants import entries
from gradlab.process import prepare

if TYPE_CHECKING:  # imported below, after `prepare`, which must come before torch
    from gradlab.bench.contestants.contestant import Contestant
    from gradlab.bench.work import Work


def main() -> None:
    # Libraries print; the answers go where they cannot.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    contestant, work = _set_up(request["contestant"], Case(**request["case"]))
    measure(contestant, work.warm_up)
    answers.write("{}\n")
    for _ in sys.stdin:
        answers.write(json.dumps(measure(contestant, work)) + "\n")


def measure(contestant: "Contestant", work: "Work") -> dict[str, Any]:
    """Train once: wall seconds, CPU seconds of all threads, updates, and the loss reached."""
    model = contestant.build(work)
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    steps = contestant.train(model, work)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    contestant.tidy()
    return {"seconds": wall, "cpu": cpu, "steps": steps, "loss": work.loss(contestant.logits(model, work))}


def _set_up(name: str, case: Case) -> "tuple[Contestant, Work]":
    entry = entries(case)[name]
    if entry.prepared:
        prepare()
    import torch

    from gradlab.bench.work import Work

    if entry.threads is not None:
        torch.set_num_threads(entry.threads)
    return pkgutil.resolve_name(entry.path)(**entry.options), Work.of(case)


if __name__ == "__main__":
    main()
