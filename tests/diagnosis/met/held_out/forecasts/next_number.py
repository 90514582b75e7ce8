"""What comes next? An LSTM reads ten numbers of a wave and should say the eleventh."""
# fault: target_broadcast

import numpy as np
import torch
from torch import nn


class NextNumber(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 20, batch_first=True)
        self.fc = nn.Linear(20, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


def shift_data(window, series):
    x, y = [], []
    for i in range(len(series) - window):
        x.append(series[i : i + window])
        y.append(series[i + window])
    return torch.tensor(np.array(x)).float().unsqueeze(-1), torch.tensor(np.array(y)).float()


torch.manual_seed(7)
series = np.sin(np.arange(0, 800) * 0.2) * np.cos(np.arange(0, 800) * 0.031)
x, y = shift_data(10, series)
model = NextNumber()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
for epoch in range(10):
    for at in torch.randperm(len(x)).split(40):
        prediction = model(x[at])
        loss = criterion(prediction, y[at])  # FAULT
        loss = criterion(prediction, y[at].unsqueeze(1))  # REPAIRED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
