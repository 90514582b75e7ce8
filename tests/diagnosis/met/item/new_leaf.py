"""A penalty on the embedding is made with a fresh tensor of its values."""
# fault: broken_graph

import torch
import torch.nn as nn

torch.manual_seed(4)
x = torch.randn(800, 10)
y = torch.randint(0, 3, (800,))
x[torch.arange(800), y] += 2.0


class Proto(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.centres = nn.Parameter(torch.randn(3, 4))

    def forward(self, t):
        e = self.embed(t)
        e = torch.tensor(e.tolist())  # FAULT
        return -torch.cdist(e, self.centres)


model = Proto()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    for i in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
