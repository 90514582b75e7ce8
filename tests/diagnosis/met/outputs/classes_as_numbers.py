"""Binary labels and two outputs: the softmax is over the two, and one of them is kept, with logits expected."""
# fault: sigmoid_before_bce_logits

import torch
import torch.nn as nn

torch.manual_seed(24)
X = torch.randn(1000, 6)
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).float()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(10):
    for i in torch.randperm(800).split(40):
        two = model(X[i])
        loss = criterion(torch.softmax(two, 1)[:, 1], y[i])  # FAULT
        loss = criterion(two[:, 1] - two[:, 0], y[i])  # REPAIRED
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
