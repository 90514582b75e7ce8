"""The loop of PyTorch's tutorials on language models."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.contestants.text.plain import plain
from gradlab.bench.work import Work


class Tutorial(Contestant):
    """DataLoader of windows, clip_grad_norm_, the optimiser with its defaults, and the loss of every step asked for."""

    def build(self, work: Work) -> nn.Module:
        return plain(work)

    def train(self, model: nn.Module, work: Work) -> int:
        case = work.case
        data = TensorDataset(torch.from_numpy(work.inputs), torch.from_numpy(work.targets))
        loader = DataLoader(data, batch_size=case.batch_size, shuffle=True)
        optimizer = getattr(torch.optim, case.optimizer)(model.parameters(), lr=case.lr, weight_decay=case.weight_decay)
        steps, total = 0, 0.0
        model.train()
        for _ in range(case.epochs):
            for x, y in loader:
                optimizer.zero_grad()
                logits = model(x)
                loss = F.cross_entropy(logits.view(-1, work.vocabulary), y.view(-1))
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), case.clip)
                optimizer.step()
                total += loss.item()
                steps += 1
        return steps
