"""Super-resolution of digits with sub-pixel convolution and a channel shuffle on the way."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(1)
high = torch.tensor(load_digits().images, dtype=torch.float32).unsqueeze(1) / 16
low = F.avg_pool2d(high, 2)


class ESPCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 4, 1)

    def forward(self, x):
        x = F.relu(self.a(x))
        n, c, h, w = x.shape
        x = x.view(n, 4, c // 4, h, w).transpose(1, 2).reshape(n, c, h, w)
        x = F.relu(self.b(x))
        x = self.c(x).view(n, 2, 2, h, w).permute(0, 3, 1, 4, 2).reshape(n, 1, 2 * h, 2 * w)
        return x


model = ESPCN()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for i in torch.randperm(1500).split(50):
        optimizer.zero_grad()
        loss = F.mse_loss(model(low[i]), high[i])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, F.mse_loss(model(low[1500:]), high[1500:]).item())
