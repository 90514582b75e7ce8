"""A score for each step of a sequence, with the softmax's axis left to the library."""
# fault: wrong_softmax_dim

import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")
torch.manual_seed(13)


class AttentionPool(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w = nn.Linear(size, size)
        self.u = nn.Linear(size, 1, bias=False)

    def forward(self, h):
        weights = F.softmax(self.u(torch.tanh(self.w(h))))  # FAULT
        weights = F.softmax(self.u(torch.tanh(self.w(h))), dim=1)  # REPAIRED
        return (weights * h).sum(1)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(12, 24, batch_first=True, bidirectional=True)
        self.pool = AttentionPool(48)
        self.out = nn.Linear(48, 3)

    def forward(self, x):
        return self.out(self.pool(self.gru(x)[0]))


x = torch.randn(1000, 18, 12)
y = torch.randint(3, (1000,))
at = torch.randint(18, (1000,))
x[torch.arange(1000), at, :3] += 4 * F.one_hot(y, 3).float()
model = Reader()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    for i in torch.randperm(1000).split(25):
        loss = F.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
