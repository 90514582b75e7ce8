"""Reviews of very different length, padded at the end; a mean over all places is classified."""
# fault: unmasked_padding

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(9)
PAD = 0


def review():
    label = int(torch.rand(1) < 0.5)
    n = int(torch.randint(3, 60, (1,)))
    tokens = torch.randint(20, 200, (n,))
    k = max(1, n // 5)
    tokens[torch.randperm(n)[:k]] = torch.randint(1, 9, (k,)) + 9 * label
    return tokens, label


def collate(batch):
    texts, labels = zip(*batch)
    return pad_sequence(texts, batch_first=True, padding_value=PAD), torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, vocab=200, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, 48, batch_first=True)
        self.out = nn.Linear(48, 2)

    def forward(self, x):
        states, last = self.gru(self.emb(x))
        return self.out(last[-1])  # FAULT
        lengths = (x != PAD).sum(1)  # REPAIRED
        return self.out(states[torch.arange(len(x)), lengths - 1])  # REPAIRED


loader = DataLoader([review() for _ in range(1200)], batch_size=30, shuffle=True, collate_fn=collate)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    right = 0
    for x, y in loader:
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (out.argmax(1) == y).sum().item()
    print(epoch, f"{loss.item():.3f}", right / 1200)
