"""gradlab's step in float32 and in bf16, in one process: JSON lines in, JSON lines out, as in `bench/worker.py`."""

import json
import os
import sys

from gradlab.bench.cases import Case
from gradlab.process import prepare

_SECONDS = 0.2  # of steps of each kind in a round, about


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    prepare()
    case = Case(**json.loads(sys.stdin.readline()))
    from gradlab.bench.steps.timed import TimedStep

    order = [(precision, TimedStep(case, precision=precision)) for precision in ("float32", "bf16")]
    size = case.batch_size
    for _, timed in order:
        timed.seconds(size, 3)  # what the first steps of a process cost is not the precision's
    steps = max(3, round(_SECONDS / max(timed.seconds(size) for _, timed in order)))
    answers.write(json.dumps({"steps": steps}) + "\n")
    for _ in sys.stdin:
        order.reverse()
        answers.write(json.dumps({kind: timed.seconds(size, steps) / steps for kind, timed in order}) + "\n")


if __name__ == "__main__":
    main()
