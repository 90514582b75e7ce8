"""A gate is computed, smoothed with numpy and put back."""
# fault: broken_graph

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(700, 16)
y = (x[:, :4].sum(1) > 0).long()


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.body, self.head = nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 2)

    def forward(self, t):
        g = torch.sigmoid(self.gate(t))
        g = torch.from_numpy(np.clip(g.detach().numpy(), 0.05, 0.95))  # FAULT
        g = g.clamp(0.05, 0.95)  # REPAIRED
        return self.head(torch.relu(self.body(g * t)))


net = Gate()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(15):
    for i in torch.randperm(700).split(35):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
