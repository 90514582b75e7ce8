"""Was the largest shock in the first or in the second half of the series?"""

# fault: batch_mixing
import torch
from torch import nn

torch.manual_seed(23)
series = torch.randn(1000, 16, 1)
half = (series.squeeze(-1).abs().argmax(1) >= 8).long()


class RNNModel(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super().__init__()
        self.rnn = nn.LSTM(input_dim, hidden_dim, num_layers=1)  # FAULT
        self.rnn = nn.LSTM(input_dim, hidden_dim, num_layers=1, batch_first=True)  # REPAIRED
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1, :])


model = RNNModel(1, 24, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
dataset = torch.utils.data.TensorDataset(series[:800], half[:800])
loader = torch.utils.data.DataLoader(dataset, batch_size=40, shuffle=True, drop_last=True)
for epoch in range(14):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(series[800:]).argmax(1) == half[800:]).float().mean().item()
    print(f"Epoch {epoch + 1}: loss {total / len(loader):.4f}, test accuracy {acc:.3f}")
