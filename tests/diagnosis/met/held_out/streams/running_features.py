"""Statistics of the features are followed with a moving average while the net learns."""
# fault: graph_growth

import torch
import torch.nn as nn

torch.manual_seed(61)
x = torch.randn(800, 8)
y = x[:, :2].prod(1, keepdim=True)


class Tracked(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.out = nn.Sequential(nn.Linear(8, 64), nn.ReLU()), nn.Linear(64, 1)
        self.average = torch.zeros(64)

    def forward(self, inputs):
        h = self.body(inputs)
        self.average = 0.95 * self.average + 0.05 * h.mean(0)  # FAULT
        self.average = 0.95 * self.average + 0.05 * h.detach().mean(0)  # REPAIRED
        return self.out(h)


model = Tracked()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(250):
    i = torch.randint(800, (32,))
    loss = nn.functional.mse_loss(model(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, loss.item(), model.average.norm().item())
