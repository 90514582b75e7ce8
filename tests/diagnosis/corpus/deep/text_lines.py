"""Language identification toy: bag of character bigrams from made-up words, small MLP."""
# fault: slow_data_loader

import random
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

random.seed(4)
torch.manual_seed(4)
ALPHABET = "abcdefghijklmnopqrst"
SYLLABLES = [["ka", "to", "mi", "ras", "no"], ["est", "or", "ble", "din", "ag"], ["tim", "ok", "sat", "rel", "ob"]]


def make_line(lang):
    words = []
    for _ in range(random.randint(60, 90)):
        source = SYLLABLES[lang] if random.random() < 0.3 else random.choice(SYLLABLES)
        words.append("".join(random.choices(source, k=random.randint(2, 4))))
    return " ".join(words)


def encode(line):
    pairs = [a + b for a in ALPHABET for b in ALPHABET]
    counts = torch.zeros(len(pairs))
    for i, pair in enumerate(pairs):
        counts[i] = line.count(pair)
    return (counts / counts.sum()).sqrt() * 10


class Lines(Dataset):
    def __init__(self, lines, langs):
        self.lines, self.langs = lines, langs
        self.vectors = [encode(line) for line in lines]  # REPAIRED

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        return encode(self.lines[i]), self.langs[i]  # FAULT
        return self.vectors[i], self.langs[i]  # REPAIRED


langs = [random.randrange(3) for _ in range(336)]
lines = [make_line(lang) for lang in langs]
train_ds, test_ds = Lines(lines[:256], langs[:256]), Lines(lines[256:], langs[256:])
train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=80)

net = nn.Sequential(nn.Linear(len(ALPHABET) ** 2, 48), nn.Tanh(), nn.Linear(48, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
ce = nn.CrossEntropyLoss()

began = time.perf_counter()
for epoch in range(8):
    net.train()
    losses = []
    for xb, yb in train_dl:
        loss = ce(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        acc = [(net(xb).argmax(1) == yb).float().mean().item() for xb, yb in test_dl]
    took = time.perf_counter() - began
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} test acc {sum(acc) / len(acc):.3f} ({took:.1f}s)")
