"""Next-song recommendation from listening sessions of different lengths: GRU with output layer tied to the embedding.

Sessions are drawn from a random walk over songs. Songs of one artist follow each other, now and then listeners jump.
"""

import math
import random

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

PAD, N_SONGS, DIM = 0, 60, 32
random.seed(2)
torch.manual_seed(2)


def session():
    song = random.randint(1, N_SONGS)
    seq = [song]
    for _ in range(random.randint(4, 14)):
        u = random.random()
        if u < 0.85:
            song = (song * 7 + 3) % N_SONGS + 1
        elif u < 0.95:
            song = song % N_SONGS + 1
        else:
            song = random.randint(1, N_SONGS)
        seq.append(song)
    return torch.tensor(seq)


def collate(batch):
    lengths = torch.tensor([len(s) - 1 for s in batch])
    return pad_sequence([s[:-1] for s in batch], True, PAD), pad_sequence([s[1:] for s in batch], True, PAD), lengths


class NextSong(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(N_SONGS + 1, DIM, padding_idx=PAD)
        self.gru = nn.GRU(DIM, DIM, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(DIM, N_SONGS + 1)
        nn.init.normal_(self.emb.weight, std=DIM**-0.5)
        self.head.weight = self.emb.weight

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.head(self.drop(h))


train_dl = DataLoader([session() for _ in range(2000)], batch_size=64, shuffle=True, collate_fn=collate)
test_dl = DataLoader([session() for _ in range(400)], batch_size=200, collate_fn=collate)
model = NextSong()
ce = nn.CrossEntropyLoss(ignore_index=PAD)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
epochs, warmup = 8, 25
total = epochs * len(train_dl)
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: min((s + 1) / warmup, 0.5 * (1 + math.cos(math.pi * min(1.0, s / total))))
)

for epoch in range(epochs):
    model.train()
    seen = 0.0
    for x, target, lengths in train_dl:
        opt.zero_grad(set_to_none=True)
        loss = ce(model(x, lengths).flatten(0, 1), target.flatten())
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        seen += loss.item()
    model.eval()
    hits = count = 0
    with torch.no_grad():
        for x, target, lengths in test_dl:
            mask = target != PAD
            top5 = model(x, lengths).topk(5, dim=-1).indices
            hits += (top5 == target.unsqueeze(-1)).any(-1)[mask].sum().item()
            count += mask.sum().item()
    print(f"epoch {epoch + 1} loss {seen / len(train_dl):.3f} hit@5 {hits / count:.3f} lr {sched.get_last_lr()[0]:.1e}")
