"""House prices in full, as they stand in the file."""
# fault: target_scale

import torch
import torch.nn as nn

torch.manual_seed(3)
x = torch.randn(1000, 9)
price = 200_000 + 60_000 * (x[:, :3].sum(1, keepdim=True)).tanh() + 5_000 * torch.randn(1000, 1)
y = price  # FAULT
y = (price - price.mean()) / price.std()  # REPAIRED
net = nn.Sequential(nn.Linear(9, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for i in torch.randperm(900).split(32):
        loss = nn.functional.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
