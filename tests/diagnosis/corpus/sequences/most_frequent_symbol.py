"""Which of six symbols is the most frequent one in the string? A small transformer encoder with a class token."""

# fault: lr_too_high
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)  # FAULT
parser.add_argument("--lr", type=float, default=1e-3)  # REPAIRED
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--seed", type=int, default=17)
args = parser.parse_args()
torch.manual_seed(args.seed)

SYMBOLS, LENGTH, CLS = 6, 16, 6


def strings(n):
    winner = torch.randint(0, SYMBOLS, (n,))
    s = torch.randint(0, SYMBOLS, (n, LENGTH))
    s = torch.where(torch.rand(n, LENGTH) < 0.35, winner.unsqueeze(1), s)
    counts = F.one_hot(s, SYMBOLS).sum(1)
    return torch.cat([torch.full((n, 1), CLS), s], dim=1), counts.argmax(1)


class Encoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tokens = nn.Embedding(SYMBOLS + 1, d)
        self.positions = nn.Embedding(LENGTH + 1, d)
        layer = nn.TransformerEncoderLayer(d_model=d, nhead=4, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.classifier = nn.Linear(d, SYMBOLS)

    def forward(self, s):
        h = self.tokens(s) + self.positions.weight
        return self.classifier(self.encoder(h)[:, 0])


train_x, train_y = strings(2560)
valid_x, valid_y = strings(500)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
for epoch in range(args.epochs):
    model.train()
    total = 0.0
    shuffled = torch.randperm(len(train_x))
    for chunk in shuffled.split(args.batch_size):
        loss = F.cross_entropy(model(train_x[chunk]), train_y[chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(chunk)
    model.eval()
    with torch.no_grad():
        logits = model(valid_x)
    val_loss = F.cross_entropy(logits, valid_y).item()
    val_acc = (logits.argmax(1) == valid_y).float().mean().item()
    print(f"epoch {epoch}: train {total / len(train_x):.4f}  valid {val_loss:.4f}  acc {val_acc:.3f}")
