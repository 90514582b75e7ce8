"""What nobody who calls autograd can go below: the forward and backward passes alone. Nothing is learned."""

import torch
import torch.nn.functional as F
from torch import nn

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.contestants.text.plain import plain
from gradlab.bench.work import Work


class Floor(Contestant):
    """Gradients of the same batches, in their own order, that no optimiser uses."""

    def build(self, work: Work) -> nn.Module:
        return plain(work)

    def train(self, model: nn.Module, work: Work) -> int:
        size, steps = work.case.batch_size, 0
        inputs, targets = (torch.split(torch.from_numpy(a), size) for a in (work.inputs, work.targets))
        parameters = list(model.parameters())
        for _ in range(work.case.epochs):
            for x, y in zip(inputs, targets, strict=True):
                torch.autograd.grad(F.cross_entropy(model(x).flatten(0, 1), y.flatten()), parameters)
                steps += 1
        return steps
