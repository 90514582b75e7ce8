"""Counts are never negative: a ReLU at the end is what they are made by; an angle lies between -1 and 1."""

import torch
import torch.nn as nn

torch.manual_seed(3)
X = torch.randn(1200, 6)
counts = torch.relu(2 + 1.5 * X[:, :1] + X[:, 1:2] * X[:, 2:3]).round()
angle = torch.tanh(X[:, 3:4] + 0.5 * X[:, 4:5])

body = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
count_head = nn.Sequential(nn.Linear(48, 1), nn.Softplus())
angle_head = nn.Sequential(nn.Linear(48, 1), nn.Tanh())
params = [*body.parameters(), *count_head.parameters(), *angle_head.parameters()]
opt = torch.optim.Adam(params, lr=3e-3)
for epoch in range(15):
    for i in torch.randperm(1000).split(50):
        h = body(X[i])
        loss = nn.functional.mse_loss(count_head(h), counts[i]) + nn.functional.mse_loss(angle_head(h), angle[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
