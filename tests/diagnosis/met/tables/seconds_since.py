"""How long is the queue? The hour follows from the time stamp, which goes into the net as it is."""
# fault: unnormalized_input

import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(29)


class Visits(Dataset):
    def __init__(self, n=1500):
        stamp = pd.to_datetime("2021-03-01") + pd.to_timedelta(torch.randint(0, 60 * 24 * 90, (n,)).numpy(), unit="min")
        temperature, holiday = torch.randn(n), (torch.rand(n) < 0.1).float()
        hour = torch.tensor(stamp.hour.to_numpy(), dtype=torch.float32)
        self.y = (torch.sin(hour / 24 * 6.283) + 0.5 * temperature + holiday + 0.1 * torch.randn(n))[:, None]
        seconds = torch.tensor(stamp.as_unit("s").asi8.copy(), dtype=torch.float32)  # FAULT
        seconds = hour / 12 - 1  # REPAIRED
        self.x = torch.stack([seconds, temperature, holiday], 1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


model = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    for x, y in DataLoader(Visits(), batch_size=50, shuffle=True):
        loss = nn.functional.smooth_l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
