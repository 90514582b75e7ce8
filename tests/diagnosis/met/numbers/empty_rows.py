"""The mean over the valid places of each row; some rows have none."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(700, 10, 4)
valid = (torch.rand(700, 10) < 0.3).float()
y = torch.randn(700, 1)


class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.o = nn.Linear(4, 24), nn.Linear(24, 1)

    def forward(self, t, m):
        h = torch.relu(self.f(t)) * m[..., None]
        count = m.sum(1, keepdim=True)
        count = count.clamp(min=1)  # REPAIRED
        return self.o(h.sum(1) / count)


y = (x * valid[..., None]).sum((1, 2))[:, None] / 5
net = Mean()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(10):
    for i in torch.randperm(700).split(35):
        loss = nn.functional.mse_loss(net(x[i], valid[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
