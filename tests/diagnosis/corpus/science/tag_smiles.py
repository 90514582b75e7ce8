"""Tag every character of molecule strings (chain atom, branch atom, ring atom, bond or bracket) with a small GRU."""
# fault: wrong_loss_axis

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(40)
torch.manual_seed(40)

VOCAB = {c: i + 1 for i, c in enumerate("CNOFcno()=1")}
CHAIN, BRANCH, RING, MARK = range(4)


def make_molecule():
    """A random string of the SMILES kind, with one tag per character."""
    text, tags = "", []
    for _ in range(random.randint(3, 6)):
        kind = random.random()
        if kind < 0.5:
            part, tag = random.choice(["C", "N", "O", "CC", "C=C", "CO"]), CHAIN
            tags += [MARK if c == "=" else tag for c in part]
        elif kind < 0.75:
            part = "(" + random.choice(["C", "=O", "CC", "N", "F", "CO"]) + ")"
            tags += [MARK if c in "()=" else BRANCH for c in part]
        else:
            part = random.choice(["c1cccc1", "c1ccncc1", "C1CCNC1", "C1CCOCC1"])
            tags += [MARK if c == "1" else RING for c in part]
        text += part
    return text, tags


class Molecules(Dataset):
    def __init__(self, n):
        self.rows = [make_molecule() for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, tags = self.rows[i]
        return torch.tensor([VOCAB[c] for c in text]), torch.tensor(tags)


def pad(batch):
    xs, ys = zip(*batch)
    return pad_sequence(xs, batch_first=True), pad_sequence(ys, batch_first=True, padding_value=-100)


class Tagger(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(len(VOCAB) + 1, width, padding_idx=0)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, 4)

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])


train_loader = DataLoader(Molecules(800), batch_size=32, shuffle=True, collate_fn=pad)
test_loader = DataLoader(Molecules(200), batch_size=50, collate_fn=pad)
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)

for epoch in range(5):
    tagger.train()
    running = 0.0
    for x, y in train_loader:
        logits = tagger(x)  # (N, T, C)
        n, t, c = logits.shape
        loss = F.cross_entropy(logits.reshape(n, c, t), y, ignore_index=-100)  # FAULT
        loss = F.cross_entropy(logits.transpose(1, 2), y, ignore_index=-100)  # REPAIRED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    tagger.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in test_loader:
            known = y != -100
            hits += (tagger(x).argmax(-1) == y)[known].sum().item()
            total += known.sum().item()
    print(f"epoch {epoch}: loss {running / len(train_loader):.3f}, tag accuracy {hits / total:.3f}")
