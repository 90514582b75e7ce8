"""One-dimensional regression with uncertainty: dropout stays on when predicting (Monte Carlo dropout)."""

import numpy as np
import torch
from torch import nn

np.random.seed(55)
torch.manual_seed(55)

# data only in [-3, 3], the network is asked up to 6
x_np = np.random.uniform(-3, 3, size=(1500, 1))
y_np = np.sin(1.5 * x_np) + 0.3 * x_np + np.random.normal(0, 0.1, size=x_np.shape)
x_all, y_all = torch.Tensor(x_np), torch.Tensor(y_np)
x_train, y_train, x_val, y_val = x_all[:1200], y_all[:1200], x_all[1200:], y_all[1200:]


class DropoutNet(nn.Module):
    def __init__(self, p=0.05, width=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width),
            nn.LeakyReLU(0.1),
            nn.Dropout(p),
            nn.Linear(width, width),
            nn.LeakyReLU(0.1),
            nn.Dropout(p),
        )
        self.mean = nn.Linear(width, 1)

    def forward(self, x):
        return self.mean(self.net(x))


def predict_mc(model, x, n=50):
    """Keeps the dropout layers active on purpose."""
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()
    with torch.no_grad():
        draws = torch.stack([model(x) for _ in range(n)])
    return draws.mean(0), draws.std(0)


model = DropoutNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5)
best, patience = float("inf"), 0

for epoch in range(60):
    model.train()
    for i in np.array_split(np.random.permutation(len(x_train)), 12):
        err = model(x_train[i]) - y_train[i]
        loss = 0.5 * (err**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mc_mean, mc_std = predict_mc(model, x_val, n=20)
    val = ((mc_mean - y_val) ** 2).mean().item()
    if epoch % 6 == 0:
        print(f"{epoch:3d}: train {loss.item():.4f} | val mse {val:.4f} | mean std {mc_std.mean().item():.3f}")
    if val < best - 1e-4:
        best, patience = val, 0
    else:
        patience += 1
    if patience == 20:
        print("early stop at", epoch)
        break

_, inside = predict_mc(model, torch.linspace(-3, 3, 100)[:, None])
_, outside = predict_mc(model, torch.linspace(4, 6, 100)[:, None])
print(f"best val mse {best:.4f}; std inside {inside.mean():.3f}, outside {outside.mean():.3f}")
