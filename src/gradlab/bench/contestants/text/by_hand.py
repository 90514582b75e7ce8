"""What a careful person writes without any library: no DataLoader, and the fused form of the update."""

import torch
import torch.nn.functional as F
from torch import nn

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.contestants.text.plain import plain
from gradlab.bench.work import Work


class ByHand(Contestant):
    """Batches are index selections from two tensors."""

    def build(self, work: Work) -> nn.Module:
        return plain(work)

    def train(self, model: nn.Module, work: Work) -> int:
        case = work.case
        inputs, targets = torch.from_numpy(work.inputs), torch.from_numpy(work.targets)
        make = getattr(torch.optim, case.optimizer)
        optimizer = make(model.parameters(), lr=case.lr, weight_decay=case.weight_decay, fused=True)
        steps = 0
        model.train()
        for _ in range(case.epochs):
            for rows in torch.split(torch.randperm(len(inputs)), case.batch_size):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs[rows]).flatten(0, 1), targets[rows].flatten())
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), case.clip)
                optimizer.step()
                steps += 1
        return steps
