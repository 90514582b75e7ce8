"""Recognise hand gestures from accelerometer bursts of different lengths: packed GRU, accumulated gradients, one-cycle."""

import math

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Gestures(Dataset):
    """0: shake, 1: circle, 2: single swing, 3: double tap."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            kind = int(torch.randint(0, 4, (1,), generator=g))
            length = int(torch.randint(18, 45, (1,), generator=g))
            t = torch.linspace(0, 1, length)
            speed = 0.8 + 0.4 * torch.rand(1, generator=g)
            if kind == 0:
                wave = torch.stack([torch.sin(2 * math.pi * 4 * speed * t), 0 * t])
            elif kind == 1:
                wave = torch.stack([torch.sin(2 * math.pi * speed * t), torch.cos(2 * math.pi * speed * t)])
            elif kind == 2:
                wave = torch.stack([torch.sin(math.pi * speed * t), 0.5 * torch.sin(math.pi * speed * t)])
            else:
                taps = torch.exp(-(((t - 0.3) / 0.05) ** 2)) + torch.exp(-(((t - 0.7) / 0.05) ** 2))
                wave = torch.stack([0 * t, 1.8 * taps])
            noise = 0.3 * torch.randn(2, length, generator=g)
            self.items.append(((wave + noise).T, kind))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    seqs, kinds = zip(*batch)
    return pad_sequence(seqs, batch_first=True), torch.tensor([len(s) for s in seqs]), torch.tensor(kinds)


class GestureGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, 32, batch_first=True)
        self.fc = nn.Linear(32, 4)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, last = self.gru(packed)
        return self.fc(last[-1])


torch.manual_seed(31)
train_loader = DataLoader(Gestures(640, 1), batch_size=16, shuffle=True, collate_fn=collate)
test_loader = DataLoader(Gestures(200, 2), batch_size=100, collate_fn=collate)
model = GestureGRU()
ACCUM, EPOCHS = 2, 8
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
plan = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=EPOCHS * len(train_loader) // ACCUM)
ce = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    model.train()
    seen = 0.0
    for i, (x, lengths, kind) in enumerate(train_loader, start=1):
        loss = ce(model(x, lengths), kind)
        (loss / ACCUM).backward()
        seen += loss.item()
        if i % ACCUM == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            plan.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x, n).argmax(1) == k).sum().item() for x, n, k in test_loader)
    print(
        f"epoch {epoch}: loss {seen / len(train_loader):.4f}, test accuracy {right / 200:.3f}, lr {plan.get_last_lr()[0]:.1e}"
    )
