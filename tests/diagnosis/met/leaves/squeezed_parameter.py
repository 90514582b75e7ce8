"""A periodic activation with a frequency to be learnt, for a seasonal curve."""
# fault: unregistered_params

import torch
from torch import nn, optim
from torch.nn import Parameter


class Snake(nn.Module):
    def __init__(self, features, a=None):
        super().__init__()
        if a is not None:
            self.a = Parameter(torch.ones(1, features) * a).squeeze()  # FAULT
            self.a = Parameter((torch.ones(1, features) * a).squeeze())  # REPAIRED
        else:
            self.a = Parameter(torch.ones(1, features).exponential_(0.1)).squeeze()  # FAULT
            self.a = Parameter(torch.ones(1, features).exponential_(0.1).squeeze())  # REPAIRED

    def forward(self, x):
        return x + torch.sin(self.a * x) ** 2 / self.a


torch.manual_seed(2)
t = torch.linspace(-4, 4, 600).unsqueeze(1)
sales = torch.sin(3 * t) + 0.3 * t + 0.05 * torch.randn_like(t)
model = nn.Sequential(nn.Linear(1, 48), Snake(48, a=1.5), nn.Linear(48, 48), Snake(48, a=1.5), nn.Linear(48, 1))
optimizer = optim.Adam(model.parameters(), lr=2e-3)
mse = nn.MSELoss()
for epoch in range(400):
    pick = torch.randint(0, 600, (64,))
    optimizer.zero_grad()
    loss = mse(model(t[pick]), sales[pick])
    loss.backward()
    optimizer.step()
    if epoch % 100 == 0:
        print(epoch, round(loss.item(), 4))
