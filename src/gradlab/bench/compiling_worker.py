"""gradlab's step, eager and compiled, in one process: JSON lines in, JSON lines out, as in `worker`."""

import json
import os
import sys
import time

from gradlab.bench.cases import Case
from gradlab.process import prepare

_STEPS = 100  # of each kind in a round


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    prepare()
    case = Case(**json.loads(sys.stdin.readline()))
    from gradlab.training.capture import compiled

    eager, fast = _Timed(case), _Timed(case)
    compiled(fast.step)
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


class _Timed:
    """The step that `fit` would take for a case, with the threads it would have, on batches of its data."""

    def __init__(self, case: Case):
        import torch

        from gradlab.bench.work import Work
        from gradlab.data import Targets
        from gradlab.probes import forward_flops
        from gradlab.tasks import Classify
        from gradlab.training.environment import choose_threads
        from gradlab.training.optimizers import Parameters, optimizers
        from gradlab.training.plan import Plan, plan_schema
        from gradlab.training.step import GradientStep

        work = Work.of(case)
        plan = Plan(**plan_schema.resolve({"batch_size": case.batch_size, "lr": case.lr}, "bench"))
        self.x, self.y = torch.from_numpy(work.inputs), torch.from_numpy(work.targets)
        model, task = work.model(), Classify(Targets(classes=[str(i) for i in range(10)]))
        torch.set_num_threads(choose_threads(plan, 3.0 * forward_flops(model, self.x[:1]) * case.batch_size))
        self.step = GradientStep(model, task, optimizers.build(plan.optimizer, Parameters(model)), plan)

    def seconds(self, batch_size: int, steps: int = 1) -> float:
        """The time of some steps on batches one after the other."""
        began = time.perf_counter()
        for number in range(steps):
            start = number * batch_size % (len(self.x) - batch_size)
            self.step((self.x[start : start + batch_size], self.y[start : start + batch_size]), 1e-3)
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
