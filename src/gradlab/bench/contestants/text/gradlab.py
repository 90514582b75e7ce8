"""gradlab itself, on the path that the training of a text's recipe takes."""

from typing import Any

import numpy as np
import torch
from torch import nn

from gradlab.bench.contestants.gradlab import Gradlab
from gradlab.bench.work import Work
from gradlab.data import Targets
from gradlab.data.text.windows import WindowExamples, Windows
from gradlab.tasks import Language
from gradlab.training import driver
from gradlab.training.checkup import Checkup
from gradlab.training.plan import Plan, plan_schema


class GradlabText(Gradlab):
    """The loop on windows of tokens that are in memory."""

    def train(self, model: nn.Module, work: Work) -> int:
        case = work.case
        values: dict[str, Any] = {"epochs": case.epochs, "batch_size": case.batch_size, "clip": case.clip}
        values |= {"optimizer": case.optimizer.lower(), "lr": case.lr, "weight_decay": case.weight_decay}
        plan = Plan(**plan_schema.resolve(values, "bench"))
        inputs: Any = Windows(torch.from_numpy(work.tokens.astype(np.uint8)), case.length)
        train, task = WindowExamples.over(inputs), Language(Targets(tokens=work.vocabulary))
        observers = [*self._observers(), Checkup()] if self.observed else []
        with driver.training(model, task, train, None, plan, observers=observers) as training:
            return training.run().step
