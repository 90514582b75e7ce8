"""The loop of PyTorch's tutorials."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gradlab.bench.contestants.contestant import Contestant
from gradlab.bench.work import Work


class Tutorial(Contestant):
    """DataLoader, CrossEntropyLoss, Adam with its defaults."""

    def train(self, model: nn.Module, work: Work) -> int:
        data = TensorDataset(torch.from_numpy(work.inputs), torch.from_numpy(work.targets))
        loader = DataLoader(data, batch_size=work.case.batch_size, shuffle=True)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=work.case.lr)
        steps = 0
        model.train()
        for _ in range(work.case.epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                steps += 1
        return steps
