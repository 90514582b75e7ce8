"""Predict the standardised progression of diabetes."""

# fault: output_range
import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
X, y = load_diabetes(return_X_y=True)
X = torch.tensor(StandardScaler().fit_transform(X), dtype=torch.float32)
y = torch.tensor(StandardScaler().fit_transform(y[:, None]), dtype=torch.float32)


class Regression(torch.nn.Module):
    def __init__(self, n_in, sizes=(32, 16)):
        super().__init__()
        dims = [n_in, *sizes, 1]
        self.layers = torch.nn.ModuleList(torch.nn.Linear(i, o) for i, o in zip(dims, dims[1:]))

    def forward(self, x):
        for layer in self.layers:  # FAULT
            x = F.relu(layer(x))  # FAULT
        return x  # FAULT
        for layer in self.layers[:-1]:  # REPAIRED
            x = F.relu(layer(x))  # REPAIRED
        return self.layers[-1](x)  # REPAIRED


model = Regression(10)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(30):
    for x, t in DataLoader(TensorDataset(X[:350], y[:350]), batch_size=16, shuffle=True):
        loss = F.mse_loss(model(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            print(
                epoch,
                "train",
                F.mse_loss(model(X[:350]), y[:350]).item(),
                "test",
                F.mse_loss(model(X[350:]), y[350:]).item(),
            )
