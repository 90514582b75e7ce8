"""Day-ahead electricity load of a small town from weather and yesterday's load."""
# fault: unnormalized_input

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def town_data(days=5000, seed=21):
    rng = np.random.default_rng(seed)
    doy = np.arange(days) % 365
    temperature = 283.0 + 11 * np.sin(2 * np.pi * (doy - 110) / 365) + 3 * rng.standard_normal(days)  # Kelvin
    pressure = 101_300 + 700 * rng.standard_normal(days)  # Pascal
    humidity = np.clip(65 + 15 * rng.standard_normal(days), 5, 100)  # percent
    weekend = (np.arange(days) % 7 >= 5).astype(float)
    heating = np.maximum(289 - temperature, 0) * 950
    cooling = np.maximum(temperature - 292, 0) * 1400
    load = 52_000 + heating + cooling - 6500 * weekend + 40 * (humidity - 65) + 700 * rng.standard_normal(days)  # kW
    yesterday = np.roll(load, 1)
    X = np.column_stack([temperature, pressure, humidity, weekend, yesterday])[1:]
    return X.astype(np.float32), (load[1:, None] / 1000).astype(np.float32)


def mean_absolute_error(model, loader):
    model.eval()
    err = n = 0
    with torch.no_grad():
        for x, y in loader:
            err += (model(x) - y).abs().sum().item()
            n += len(y)
    return err / n


def train(seed=21):
    torch.manual_seed(seed)
    X, y = town_data()
    pick = np.random.default_rng(seed).permutation(len(X))
    tr, te = pick[:4000], pick[4000:]
    y_mean, y_std = y[tr].mean(), y[tr].std()
    y = (y - y_mean) / y_std
    X = (X - X[tr].mean(axis=0)) / X[tr].std(axis=0)  # REPAIRED

    train_dl = DataLoader(TensorDataset(torch.tensor(X[tr]), torch.tensor(y[tr])), batch_size=64, shuffle=True)
    test_dl = DataLoader(TensorDataset(torch.tensor(X[te]), torch.tensor(y[te])), batch_size=500)

    model = nn.Sequential(nn.Linear(5, 48), nn.Tanh(), nn.Linear(48, 24), nn.Tanh(), nn.Linear(24, 1))
    criterion = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
    for epoch in range(8):
        model.train()
        epoch_loss = 0.0
        for x, target in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(x), target)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        mae = mean_absolute_error(model, test_dl) * y_std
        print(f"epoch {epoch + 1}: train {epoch_loss / len(train_dl):.4f} | test MAE {mae:.2f} MW")


train()
