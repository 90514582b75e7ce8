"""gradlab itself, on the path that the training of a text's recipe takes."""

from typing import Any

import numpy as np
import torch
from torch import nn

from gradlab.bench.contestants.gradlab import Gradlab
from gradlab.bench.work import Work
from gradlab.data import Examples, Targets
from gradlab.data.text.windows import Windows
from gradlab.probes import forward_flops
from gradlab.tasks import Language
from gradlab.training.checkup import Checkup
from gradlab.training.environment import choose_threads, settings
from gradlab.training.loop import Training
from gradlab.training.plan import Plan, plan_schema


class GradlabText(Gradlab):
    """The loop on windows of tokens that are in memory."""

    def train(self, model: nn.Module, work: Work) -> int:
        case, cpu = work.case, torch.device("cpu")
        values: dict[str, Any] = {"epochs": case.epochs, "batch_size": case.batch_size, "clip": case.clip}
        values |= {"optimizer": case.optimizer.lower(), "lr": case.lr, "weight_decay": case.weight_decay}
        plan = Plan(**plan_schema.resolve(values, "bench"))
        inputs: Any = Windows(torch.from_numpy(work.tokens.astype(np.uint8)), case.length)
        train = Examples(inputs, inputs.targets, np.arange(len(inputs)))
        flops = 3.0 * forward_flops(model, inputs[:1]) * case.batch_size
        observers = [*self._observers(), Checkup()] if self.observed else []
        with settings(cpu, choose_threads(plan, flops), plan):
            task = Language(Targets(tokens=work.vocabulary))
            return Training(model, task, train, None, plan, observers=observers).run().step
