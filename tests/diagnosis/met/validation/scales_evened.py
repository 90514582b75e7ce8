"""Regression on features of very different scales; BatchNorm at the input evens them out."""

# fault: train_in_eval_mode
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
scales = torch.tensor([1.0, 50.0, 900.0, 0.02, 12.0, 300.0])
z = torch.randn(1000, 6)
inputs = z * scales + scales * 2
outputs = (z[:, :1] * 0.7 + torch.tanh(z[:, 1:2]) - z[:, 2:3] * z[:, 3:4] * 0.4 + 0.3 * z[:, 5:]).float()
train_dl = DataLoader(TensorDataset(inputs[:800], outputs[:800]), batch_size=40, shuffle=True)
valid_dl = DataLoader(TensorDataset(inputs[800:], outputs[800:]), batch_size=100)

model = nn.Sequential(
    nn.BatchNorm1d(6), nn.Linear(6, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()


def validate():
    model.eval()
    with torch.no_grad():
        return sum(criterion(model(x), y).item() for x, y in valid_dl) / len(valid_dl)


print("untrained:", validate())
for epoch in range(12):
    model.train()  # REPAIRED
    for x, y in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} last batch {loss.item():.3f} valid {validate():.3f}")
