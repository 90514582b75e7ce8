"""L-BFGS: the closure is called as often as the search along a line wants it."""

import torch
from torch import nn

torch.manual_seed(3)
t = torch.linspace(0, 6, 60).unsqueeze(1)
y = torch.sin(t)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")
calls = 0


def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(t), y)
    loss.backward()
    return loss


for step in range(25):
    print(step, optimizer.step(closure).item().hex(), calls)
