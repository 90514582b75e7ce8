"""A GRU keeps a ledger: six symbols add or take from a counter modulo five, read off after every symbol."""

# %%
import torch
from torch import nn

torch.manual_seed(17)
VALUE = torch.tensor([0, 1, 2, 3, 4, 2])  # what each of the six symbols adds
LEN = 5


def batch(n):
    s = torch.randint(0, 6, (n, LEN))
    return s, VALUE[s].cumsum(1) % 5


# %%
class Ledger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(6, 16)
        self.rnn = nn.GRU(16, 48, batch_first=True)
        self.out = nn.Linear(48, 5)

    def forward(self, s):
        h, _ = self.rnn(self.emb(s))
        return self.out(h)


m = Ledger()
o = torch.optim.Adam(m.parameters(), lr=8e-3)
sch = torch.optim.lr_scheduler.CosineAnnealingLR(o, 450)
ce = nn.CrossEntropyLoss()

# %%
for it in range(450):
    s, c = batch(64)
    err = ce(m(s).transpose(1, 2), c)
    o.zero_grad()
    err.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    o.step()
    sch.step()
    if it % 75 == 74:
        m.eval()
        with torch.no_grad():
            s, c = batch(256)
            out = m(s)
            val = ce(out.transpose(1, 2), c)
            acc = (out.argmax(-1) == c).float().mean()
        m.train()
        print(f"it {it + 1} train {err.item():.4f} val {val.item():.4f} acc {acc.item():.3f}")

# %%
with torch.no_grad():
    s, c = batch(3)
    print("symbols", s.tolist())
    print("ledger ", c.tolist())
    print("network", m(s).argmax(-1).tolist())
