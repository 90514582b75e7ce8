"""A gate for each feature: plain tensors with requires_grad, in a module."""
# fault: unregistered_params

import torch
import torch.nn as nn

torch.manual_seed(14)
X = torch.randn(1200, 10)
y = (X[:, :3].sum(1) + 0.3 * torch.randn(1200) > 0).long()


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.zeros(10, requires_grad=True)  # FAULT
        self.mix = (0.3 * torch.randn(10, 24)).requires_grad_()  # FAULT
        self.gate = nn.Parameter(torch.zeros(10))  # REPAIRED
        self.mix = nn.Parameter(0.3 * torch.randn(10, 24))  # REPAIRED
        self.out = nn.Linear(24, 2)

    def forward(self, x):
        return self.out(torch.relu((x * torch.sigmoid(self.gate)) @ self.mix))


model = Gated()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for i in torch.randperm(1000).split(50):
        loss = nn.functional.cross_entropy(model(X[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
