"""gradlab's step, eager and compiled, in one process: JSON lines in, JSON lines out, as in `bench/worker.py`."""

import json
import os
import sys

from gradlab.bench.cases import Case
from gradlab.process import prepare

_STEPS = 100  # of each kind in a round


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    prepare()
    case = Case(**json.loads(sys.stdin.readline()))
    from gradlab.bench.steps.timed import TimedStep
    from gradlab.training.capture import in_mode

    eager, fast = TimedStep(case), TimedStep(case)
    fast.step = in_mode(fast.step, "compiled", fast.x.device)
    whole, ragged = case.batch_size, case.batch_size - 1
    eager.seconds(whole, 3)  # what the first steps of a process cost is not the compiler's
    cost = {
        key: fast.seconds(size) - eager.seconds(size) for key, size in {"compile": whole, "recompile": ragged}.items()
    }
    answers.write(json.dumps(cost) + "\n")
    order = [("eager", eager), ("compiled", fast)]
    for _ in sys.stdin:
        order.reverse()
        answers.write(json.dumps({kind: timed.seconds(whole, _STEPS) / _STEPS for kind, timed in order}) + "\n")


if __name__ == "__main__":
    main()
