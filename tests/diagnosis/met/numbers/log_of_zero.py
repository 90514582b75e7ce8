"""Cross-entropy by hand from probabilities, for classes that are easy to tell apart."""
# fault: nan_loss

import torch
import torch.nn as nn

torch.manual_seed(2)
y = torch.randint(0, 3, (900,))
x = torch.randn(900, 6)
x[torch.arange(900), y] += 6
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
onehot = nn.functional.one_hot(y, 3).float()
for epoch in range(40):
    for i in torch.randperm(900).split(45):
        p = torch.softmax(4 * net(x[i]), 1)
        loss = -(onehot[i] * torch.log(p) + (1 - onehot[i]) * torch.log(1 - p)).mean()  # FAULT
        p = p.clamp(1e-6, 1 - 1e-6)  # REPAIRED
        loss = -(onehot[i] * torch.log(p) + (1 - onehot[i]) * torch.log(1 - p)).mean()  # REPAIRED
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
