"""A tutorial that shows its training accuracy, on everything and on the first rows, and the test accuracy at the end."""

import torch
import torch.nn as nn
from sklearn.datasets import load_iris

torch.manual_seed(4)
x, y = load_iris(return_X_y=True)
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
x = (x - x.mean(0)) / x.std(0)
order = torch.randperm(150)
x, y, x_test, y_test = x[order[:120]], y[order[:120]], x[order[120:]], y[order[120:]]
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(100):
    model.train()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 19:
        model.eval()
        with torch.no_grad():
            print(epoch, loss.item(), (model(x).argmax(1) == y).float().mean().item(), model(x[:5]).argmax(1).tolist())
model.eval()
with torch.no_grad():
    print((model(x_test).argmax(1) == y_test).float().mean().item())
