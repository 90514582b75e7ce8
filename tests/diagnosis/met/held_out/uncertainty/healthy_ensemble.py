"""An ensemble of small nets and its spread; one of the heads is kept for later and not yet used."""

import torch
import torch.nn as nn

torch.manual_seed(12)
x = torch.rand(600, 2) * 4 - 2
y = (x[:, :1] * x[:, 1:]).tanh() + 0.05 * torch.randn(600, 1)


class Member(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.spread = nn.Linear(32, 1)

    def forward(self, inputs):
        return self.net(inputs)


members = nn.ModuleList(Member() for _ in range(4))
opt = torch.optim.Adam(members.parameters(), lr=5e-3)
for step in range(300):
    i = torch.randint(500, (50,))
    loss = sum(nn.functional.mse_loss(m(x[i]), y[i]) for m in members)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 99:
        with torch.no_grad():
            predictions = torch.stack([m(x[500:]) for m in members])
        print(step, loss.item(), predictions.std(0).mean().item())
