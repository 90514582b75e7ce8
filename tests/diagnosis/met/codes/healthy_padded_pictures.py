"""An autoencoder of digits with a wide empty border: most columns are zero, and many equal, in every row."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(2)
x = F.pad(torch.tensor(load_digits().images, dtype=torch.float32) / 16, (4, 4, 4, 4)).flatten(1)
model = nn.Sequential(
    nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 256)
)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for i in torch.randperm(1600).split(64):
        loss = F.mse_loss(model(x[i]), x[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
