"""Recognise the walking style from step traces of unequal length with a packed GRU."""

# fault: label_misalignment
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

STYLES = ["stroll", "march", "limp"]
rng = np.random.default_rng(13)
torch.manual_seed(13)


def trace(style):
    n = rng.integers(12, 40)
    t = np.arange(n) + rng.uniform(0, 6)
    rate = [0.6, 1.1, 0.85][style]
    left = np.sin(rate * t) + 0.2 * rng.normal(size=n)
    right = np.sin(rate * t + np.pi) * (0.3 if style == 2 else 1.0) + 0.2 * rng.normal(size=n)
    return torch.tensor(np.stack([left, right], axis=1), dtype=torch.float32)


def dataset(n):
    styles = rng.integers(0, 3, size=n)
    return [(trace(s), int(s)) for s in styles]


def collate(items):
    xs = [x for x, _ in items]
    ys = torch.tensor([y for _, y in items])
    lengths = torch.tensor([len(x) for x in xs])
    padded = pad_sequence(xs, batch_first=True)
    lengths, order = lengths.sort(descending=True)  # the packing wants the longest first
    return padded[order], lengths, ys  # FAULT
    return padded[order], lengths, ys[order]  # REPAIRED


class StyleNet(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.Tanh(), nn.Linear(32, len(STYLES)))

    def forward(self, padded, lengths):
        _, h = self.gru(pack_padded_sequence(padded, lengths, batch_first=True))
        return self.head(h[-1])


train = torch.utils.data.DataLoader(dataset(960), batch_size=32, shuffle=True, collate_fn=collate)
test = torch.utils.data.DataLoader(dataset(300), batch_size=100, collate_fn=collate)
net = StyleNet()
optimiser = torch.optim.RMSprop(net.parameters(), lr=1e-3)
nll = nn.NLLLoss()

for epoch in range(7):
    net.train()
    loss_sum = 0.0
    for padded, lengths, style in train:
        log_probs = net(padded, lengths).log_softmax(dim=-1)
        loss = nll(log_probs, style)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss_sum += loss.item()
    net.eval()
    correct = 0
    with torch.no_grad():
        for padded, lengths, style in test:
            correct += (net(padded, lengths).argmax(1) == style).sum().item()
    print(f"epoch {epoch + 1}  loss {loss_sum / len(train):.4f}  test acc {correct / 300:.3f}")
