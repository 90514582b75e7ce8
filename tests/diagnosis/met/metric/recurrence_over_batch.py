"""A GRU over sensor rows; batches come first."""
# fault: batch_mixing

import torch
import torch.nn as nn

torch.manual_seed(2)
x = torch.randn(900, 12, 3)
y = (x[:, :, 0].sum(1) > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 24)  # FAULT
        self.gru = nn.GRU(3, 24, batch_first=True)  # REPAIRED
        self.out = nn.Linear(24, 2)

    def forward(self, t):
        h, _ = self.gru(t)
        return self.out(h[:, -1])


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(8):
    for i in torch.randperm(900).split(36):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
