"""gradlab's step by itself, timed on the data of a case. Importing this imports torch."""

import time
from typing import Any

import torch

from gradlab.bench.cases import Case
from gradlab.bench.work import Work
from gradlab.data import Examples, Targets
from gradlab.tasks import Classify
from gradlab.training import driver
from gradlab.training.environment import choose_threads
from gradlab.training.guard import HostGuard
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.players import make_players
from gradlab.training.step import Step


class TimedStep:
    """The step that `fit` would take for a case, with the threads it would have, on batches of its data."""

    def __init__(self, case: Case, **values: Any):
        work = Work.of(case)
        plan = Plan(**plan_schema.resolve({"batch_size": case.batch_size, "lr": case.lr, **values}, "bench"))
        self.x, self.y = torch.from_numpy(work.inputs), torch.from_numpy(work.targets)
        model, task = work.model(), Classify(Targets(classes=[str(i) for i in range(10)]))
        train = Examples.of(self.x, self.y)
        cost = driver.example_cost(model, task, train)
        torch.set_num_threads(choose_threads(plan, driver.product_flops(cost, train, plan)))
        (player,) = make_players(model, task, plan)
        self.step: Step = player.step(model, model, HostGuard())

    def seconds(self, batch_size: int, steps: int = 1) -> float:
        """The time of some steps on batches one after the other."""
        began = time.perf_counter()
        for number in range(steps):
            start = number * batch_size % (len(self.x) - batch_size)
            rows = slice(start, start + batch_size)
            self.step({"inputs": self.x[rows], "targets": self.y[rows]}, 1e-3)
        return time.perf_counter() - began
