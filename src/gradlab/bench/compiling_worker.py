"""gradlab's step, eager and compiled, in one process: JSON lines in, JSON lines out, as in `worker`."""

import json
import os
import sys
import time
from typing import TYPE_CHECKING

from gradlab.bench.cases import Case
from gradlab.process import prepare

if TYPE_CHECKING:
    from gradlab.training.step import GradientStep

_STEPS = 100  # of each kind in a round


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    prepare()
    case = Case(**json.loads(sys.stdin.readline()))
    from gradlab.training.capture import compiled

    eager, fast = _step(case), _step(case)
    compiled(fast)
    whole, ragged = case.batch_size, case.batch_size - 1
    _seconds(eager, whole, 3)  # what the first steps of a process cost is not the compiler's
    cost = {
        key: _seconds(fast, size) - _seconds(eager, size)
        for key, size in {"compile": whole, "recompile": ragged}.items()
    }
    answers.write(json.dumps(cost) + "\n")
    order = [("eager", eager), ("compiled", fast)]
    for _ in sys.stdin:
        order.reverse()
        answers.write(json.dumps({kind: _seconds(step, whole, _STEPS) / _STEPS for kind, step in order}) + "\n")


def _step(case: Case) -> "GradientStep":
    """The step that `fit` would take for this case, with the threads it would have."""
    import torch

    from gradlab.bench.work import Work
    from gradlab.data import Examples, Targets
    from gradlab.probes import forward_flops
    from gradlab.tasks import Classify
    from gradlab.training.environment import choose_threads
    from gradlab.training.optimizers import Parameters, optimizers
    from gradlab.training.plan import Plan, plan_schema
    from gradlab.training.step import GradientStep

    work = Work.of(case)
    plan = Plan(**plan_schema.resolve({"batch_size": case.batch_size, "lr": case.lr}, "bench"))
    model, x = work.model(), torch.from_numpy(work.inputs)
    torch.set_num_threads(choose_threads(plan, 3.0 * forward_flops(model, x[:1]) * case.batch_size))
    return GradientStep(
        model,
        Classify(Targets(classes=[str(i) for i in range(10)])),
        Examples(x, torch.from_numpy(work.targets), torch.arange(len(x)).numpy()),
        optimizers.build(plan.optimizer, Parameters(model)),
        plan,
    )


def _seconds(step: "GradientStep", batch_size: int, steps: int = 1) -> float:
    """The time of some steps on random batches."""
    import torch

    batches = torch.randint(len(step.examples), (steps, batch_size)).unbind()
    began = time.perf_counter()
    for rows in batches:
        step(rows, 1e-3)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
