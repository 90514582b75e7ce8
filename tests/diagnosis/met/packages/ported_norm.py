"""A network that was ported from another framework, with its BatchNorm settings."""

# fault: train_eval_gap
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(17)
X, y = load_wine(return_X_y=True)
Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
Xt, Xv = torch.as_tensor(Xt).float(), torch.as_tensor(Xv).float()
yt, yv = torch.as_tensor(yt), torch.as_tensor(yv)


def dense(fan_in, fan_out):
    return [nn.Linear(fan_in, fan_out), nn.BatchNorm1d(fan_out, momentum=0.001, eps=1e-3), nn.ReLU()]  # FAULT
    return [nn.Linear(fan_in, fan_out), nn.BatchNorm1d(fan_out, momentum=0.1, eps=1e-3), nn.ReLU()]  # REPAIRED


ported = nn.Sequential(*dense(13, 32), *dense(32, 16), nn.Linear(16, 3))
optimizer = torch.optim.Adam(ported.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(Xt, yt), 31, shuffle=True)
for epoch in range(25):
    ported.train()
    correct = 0
    for inputs, targets in loader:
        logits = ported(inputs)
        loss = criterion(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(1) == targets).sum().item()
    ported.eval()
    with torch.no_grad():
        val = ported(Xv)
    if epoch % 4 == 0:
        print(epoch, "train acc", correct / len(yt), "val acc", (val.argmax(1) == yv).float().mean().item())
