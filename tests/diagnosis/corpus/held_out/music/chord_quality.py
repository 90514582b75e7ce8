"""Name the quality of a chord (major, minor, dim, aug, sus4) from a bag of sounding notes with wrong notes mixed in."""

# fault: eval_in_train_mode
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

QUALITIES = {"maj": (0, 4, 7), "min": (0, 3, 7), "dim": (0, 3, 6), "aug": (0, 4, 8), "sus4": (0, 5, 7)}
NAMES = list(QUALITIES)


class Chords(Dataset):
    """Eight (pitch class, played hard or soft) tokens per chord; the root is always the first one."""

    def __init__(self, n, seed=0):
        g = np.random.default_rng(seed)
        self.notes = np.zeros((n, 8), dtype=np.int64)
        self.y = g.integers(0, len(NAMES), n)
        for i, q in enumerate(self.y):
            root = g.integers(0, 12)
            tones = (root + np.array(QUALITIES[NAMES[q]])) % 12
            row = np.concatenate([tones, g.choice(tones, 4), g.integers(0, 12, 1)])
            g.shuffle(row[1:])
            self.notes[i] = row

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.notes[i]), int(self.y[i])


class ChordNet(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.root = nn.Embedding(12, 32)
        self.note = nn.Embedding(12, 32)
        self.mlp = nn.Sequential(
            nn.Linear(64, 128), nn.ReLU(), nn.Dropout(p), nn.Linear(128, 128), nn.ReLU(), nn.Dropout(p)
        )
        self.out = nn.Linear(128, len(NAMES))

    def forward(self, notes):
        h = torch.cat([self.root(notes[:, 0]), self.note(notes[:, 1:]).mean(1) * 2.0], dim=1)
        return self.out(self.mlp(h))


def run():
    torch.manual_seed(8)
    train_set, valid_set = random_split(Chords(4000), [3200, 800])
    train_dl = DataLoader(train_set, batch_size=64, shuffle=True)
    valid_dl = DataLoader(valid_set, batch_size=200)
    net = ChordNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(10):
        net.train()
        seen = 0.0
        for notes, quality in train_dl:
            loss = F.cross_entropy(net(notes), quality)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen += loss.item()
        net.eval()  # REPAIRED
        right, vloss = 0, 0.0
        with torch.no_grad():
            for notes, quality in valid_dl:
                logits = net(notes)
                vloss += F.cross_entropy(logits, quality, reduction="sum").item()
                right += (logits.argmax(1) == quality).sum().item()
        n = len(valid_set)
        print(f"[{epoch:02d}] train {seen / len(train_dl):.3f}  valid {vloss / n:.3f}  acc {right / n:.3f}")


run()
