"""Diabetes progression, plain SGD."""

# fault: missing_zero_grad
import torch
from sklearn.datasets import load_diabetes
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
bunch = load_diabetes(scaled=True)
inputs = torch.tensor(bunch.data * 20, dtype=torch.float32)
goal = torch.tensor((bunch.target - 152) / 77, dtype=torch.float32).unsqueeze(1)
dl = DataLoader(TensorDataset(inputs[:340], goal[:340]), 20, shuffle=True)
fc = torch.nn.Sequential(torch.nn.Linear(10, 24), torch.nn.ReLU(), torch.nn.Linear(24, 1))
sgd = torch.optim.SGD(fc.parameters(), lr=0.02)
mse = torch.nn.MSELoss()


def evaluate():
    with torch.no_grad():
        return mse(fc(inputs[340:]), goal[340:]).item()


print("before", evaluate())
for epoch in range(20):
    seen = 0.0
    for xb, yb in dl:
        l = mse(fc(xb), yb)
        sgd.zero_grad()  # REPAIRED
        l.backward()
        sgd.step()
        seen += l.item() * len(xb)
    print("epoch", epoch, "train", seen / 340, "valid", evaluate())
