"""Data from worker processes that draw random numbers, forked or spawned."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 192

    def __getitem__(self, index):
        x = torch.full((6,), index / 192) + 0.1 * torch.rand(6)
        return x + float(np.sin(index)), x.sum()


def main(method):
    torch.manual_seed(5)
    loader = DataLoader(Noisy(), batch_size=16, shuffle=True, num_workers=2, multiprocessing_context=method)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for xb, yb in loader:
            opt.zero_grad()
            loss = ((model(xb).squeeze(1) - yb) ** 2).mean()
            loss.backward()
            opt.step()
            print(loss.item().hex(), flush=True)
    print(torch.rand(1).item().hex())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fork")
