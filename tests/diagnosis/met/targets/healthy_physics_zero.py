"""A physics-informed net: the residual of the equation is compared with zero, the border with a constant."""

import torch
import torch.nn as nn

torch.manual_seed(5)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
mse = nn.MSELoss()
for step in range(400):
    t = torch.rand(64, 1, requires_grad=True) * 2
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    residual = mse(du + 2 * u, torch.zeros_like(u))
    border = mse(net(torch.zeros(1, 1)), torch.ones(1, 1))
    loss = residual + 10 * border
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0:
        print(step, residual.item(), border.item())
