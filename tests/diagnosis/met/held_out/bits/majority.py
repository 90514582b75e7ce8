"""Learn the majority of nine bits; the network is trained on its decisions."""

# fault: broken_graph
import torch
from torch import nn

torch.manual_seed(21)
bits = torch.randint(0, 2, (1200, 9)).float()
majority = (bits.sum(1) > 4).float()
train_bits, test_bits = bits[:900], bits[900:]
train_y, test_y = majority[:900], majority[900:]


class Voter(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return torch.sigmoid(self.body(x)).squeeze(-1)


voter = Voter()
optimizer = torch.optim.Adam(voter.parameters(), lr=0.01)
criterion = nn.BCELoss()
for epoch in range(15):
    epoch_loss = 0.0
    for i in range(0, 900, 60):
        x, y = train_bits[i : i + 60], train_y[i : i + 60]
        probability = voter(x)
        outputs = (probability > 0.5).float().requires_grad_(True)  # FAULT
        outputs = probability  # REPAIRED
        loss = criterion(outputs, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    with torch.no_grad():
        acc = ((voter(test_bits) > 0.5) == (test_y > 0.5)).float().mean()
    print("Epoch", epoch, "loss", round(epoch_loss / 15, 4), "accuracy", round(acc.item(), 3))
