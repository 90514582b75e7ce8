"""Masked modelling of shift rosters: a bidirectional encoder fills in the days that were blanked out."""

import torch
from torch import nn

gen = torch.Generator().manual_seed(31)
torch.manual_seed(31)
SHIFTS, MASK, WEEKS, DAYS = 6, 6, 4, 7
IGNORE = -100
patterns = torch.randint(0, SHIFTS, (10, DAYS), generator=gen)


def rosters(n):
    weeks = torch.randint(0, len(patterns), (n, WEEKS), generator=gen)
    planned = patterns[weeks].reshape(n, WEEKS * DAYS)
    swapped = torch.rand(planned.shape, generator=gen) < 0.03
    return torch.where(swapped, torch.randint(0, SHIFTS, planned.shape, generator=gen), planned)


def blank(days):
    """The usual recipe: 20 % of the days are asked for; of those 80 % are masked, 10 % random, 10 % left."""
    asked = torch.rand(days.shape) < 0.2
    labels = days.masked_fill(~asked, IGNORE)
    dice = torch.rand(days.shape)
    noisy = torch.where(asked & (dice < 0.8), MASK, days)
    noisy = torch.where(asked & (dice >= 0.9), torch.randint(0, SHIFTS, days.shape), noisy)
    return noisy, labels


class Filler(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.shift = nn.Embedding(SHIFTS + 1, d)
        self.week, self.day = nn.Embedding(WEEKS, d), nn.Embedding(DAYS, d)
        block = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, 2, norm=nn.LayerNorm(d), enable_nested_tensor=False)
        self.predict = nn.Linear(d, SHIFTS)

    def forward(self, days):
        t = torch.arange(WEEKS * DAYS)
        x = self.shift(days) + self.week(t // DAYS) + self.day(t % DAYS)
        return self.predict(self.blocks(x))


train, test = rosters(3000), rosters(400)
test_in, test_labels = blank(test)
filler = Filler()
criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
steps = 200
optimizer = torch.optim.AdamW(filler.parameters(), lr=3e-3, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps, pct_start=0.1)

for step in range(steps):
    noisy, labels = blank(train[torch.randint(0, len(train), (32,))])
    loss = criterion(filler(noisy).view(-1, SHIFTS), labels.view(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 0 or step == steps - 1:
        filler.eval()
        with torch.inference_mode():
            out = filler(test_in)
        asked = test_labels != IGNORE
        acc = (out.argmax(-1)[asked] == test_labels[asked]).float().mean().item()
        filler.train()
        print(f"step {step}: mlm loss {loss.item():.3f}, masked days right {acc:.3f}")
