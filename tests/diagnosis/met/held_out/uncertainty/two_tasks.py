"""Two tasks with one body; their weights are learnt as log-variances."""
# fault: broken_graph

import torch
import torch.nn as nn

torch.manual_seed(31)
x = torch.randn(1000, 6)
depth = x[:, :1] * 2 + x[:, 1:2] ** 2
kind = (x[:, 2] + x[:, 3] > 0).long()


class TwoTasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.ReLU())
        self.depth, self.kind = nn.Linear(48, 1), nn.Linear(48, 2)
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, inputs):
        h = self.body(inputs)
        return self.depth(h), self.kind(h)

    def weigh(self, losses):
        s = [v.item() for v in self.log_vars]  # FAULT
        s = list(self.log_vars)  # REPAIRED
        return sum(torch.exp(-torch.as_tensor(v)) * loss + v for v, loss in zip(s, losses))


model = TwoTasks()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(400):
    i = torch.randint(1000, (64,))
    d, k = model(x[i])
    parts = nn.functional.mse_loss(d, depth[i]), nn.functional.cross_entropy(k, kind[i])
    loss = model.weigh(parts)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 99:
        print(step, parts[0].item(), parts[1].item(), model.log_vars.tolist())
