"""Classify sequences by the last hidden states of a two-layer bidirectional LSTM."""

# fault: view_mixes_axes
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
N, T = 900, 12
steps = torch.randn(N, T, 3)
label = (steps[:, :, 0].sum(1) > 0).long() + 2 * (steps[:, :, 1].sum(1) > 0).long()
train = TensorDataset(steps[:700], label[:700])


class SequenceClassifier(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(3, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(4 * hidden, 4)

    def forward(self, seq):
        _, (h_n, _) = self.lstm(seq)
        flat = h_n.view(seq.size(0), -1)  # FAULT
        flat = h_n.transpose(0, 1).reshape(seq.size(0), -1)  # REPAIRED
        return self.linear(flat)


clf = SequenceClassifier()
optimizer = torch.optim.Adam(clf.parameters(), lr=0.01)
for epoch in range(8):
    clf.train()
    for batch, target in DataLoader(train, batch_size=50, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(clf(batch), target)
        loss.backward()
        optimizer.step()
    clf.eval()
    with torch.no_grad():
        acc = (clf(steps[700:]).argmax(1) == label[700:]).float().mean()
    print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc.item():.3f}")
