"""Daily returns of a share, from ten days before; the output layer is like the others."""
# fault: output_range

import torch
from torch import nn

torch.manual_seed(1)
noise = torch.randn(1500)
series = torch.zeros(1500)
for t in range(2, 1500):
    series[t] = 0.75 * series[t - 1] - 0.5 * series[t - 2] + 0.4 * noise[t]
windows = series.unfold(0, 11, 1)
past, coming = windows[:, :10], windows[:, 10:]

model = nn.Sequential(
    nn.Linear(10, 32),
    nn.ReLU(),
    nn.Linear(32, 32),
    nn.ReLU(),
    nn.Linear(32, 1),
    nn.ReLU(),  # FAULT
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.MSELoss()
for epoch in range(12):
    total = 0.0
    for i in torch.randperm(1200).split(40):
        optimizer.zero_grad()
        loss = loss_fn(model(past[i]), coming[i])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(i)
    print(f"epoch {epoch}: {total / 1200:.4f}")
model.eval()
with torch.no_grad():
    print("later days:", loss_fn(model(past[1210:]), coming[1210:]).item())
