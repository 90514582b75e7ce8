"""House prices: a custom quantile loss, written with numpy."""

# fault: broken_graph
import numpy as np
import torch
from sklearn.datasets import make_friedman1

torch.manual_seed(7)
data, price = make_friedman1(n_samples=800, n_features=8, noise=0.3, random_state=0)
data = torch.tensor(data, dtype=torch.float32)
price = torch.tensor((price - price.mean()) / price.std(), dtype=torch.float32)


def pinball(estimate, actual, q=0.5):
    gap = actual.numpy() - estimate.detach().numpy()  # FAULT
    value = np.mean(np.maximum(q * gap, (q - 1) * gap))  # FAULT
    return torch.tensor(value, requires_grad=True)  # FAULT
    gap = actual - estimate  # REPAIRED
    return torch.maximum(q * gap, (q - 1) * gap).mean()  # REPAIRED


regressor = torch.nn.Sequential(
    torch.nn.Linear(8, 40),
    torch.nn.ELU(),
    torch.nn.Linear(40, 40),
    torch.nn.ELU(),
    torch.nn.Linear(40, 1),
    torch.nn.Flatten(0),
)
opt = torch.optim.RMSprop(regressor.parameters(), lr=1e-3)
for epoch in range(20):
    for part in torch.randperm(600).split(40):
        opt.zero_grad()
        cost = pinball(regressor(data[part]), price[part])
        cost.backward()
        opt.step()
    with torch.no_grad():
        mae = (regressor(data[600:]) - price[600:]).abs().mean()
    print(f"epoch {epoch}: mean absolute error {mae:.3f}")
