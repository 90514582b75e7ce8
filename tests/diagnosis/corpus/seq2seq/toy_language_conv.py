"""Translates an invented language (every word has a partner, neighbouring words change places) with a conv decoder."""
# fault: causal_leak

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
V, T, D = 24, 8, 48
BOS = V
partner = torch.randperm(V)


def batch(n):
    src = torch.randint(0, V, (n, T))
    tgt = partner[src].view(n, T // 2, 2).flip(2).reshape(n, T)
    dec_in = torch.cat([torch.full((n, 1), BOS), tgt[:, :-1]], 1)
    return src, dec_in, tgt


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(V, D)
        self.places = nn.Parameter(0.3 * torch.randn(T, D))
        self.gru = nn.GRU(D, D // 2, batch_first=True, bidirectional=True)

    def forward(self, src):
        x = self.words(src) + self.places
        return self.gru(x)[0] + x


class Decoder(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.words = nn.Embedding(V + 1, D)
        self.places = nn.Parameter(0.3 * torch.randn(T, D))
        self.convs = nn.ModuleList([nn.Conv1d(D, 2 * D, width) for _ in range(2)])
        self.query = nn.Linear(D, D)
        self.out = nn.Linear(2 * D, V)
        self.pad = (width // 2, width // 2)  # FAULT
        self.pad = (width - 1, 0)  # REPAIRED

    def forward(self, dec_in, memory):
        x = (self.words(dec_in) + self.places).transpose(1, 2)
        for conv in self.convs:
            x = x + F.glu(conv(F.pad(x, self.pad)), dim=1)
        x = x.transpose(1, 2)
        att = torch.softmax(self.query(x) @ memory.transpose(1, 2) / D**0.5, dim=-1)
        return self.out(torch.cat([x, att @ memory], -1))


@torch.no_grad()
def translate(enc, dec, src):
    memory = enc(src)
    hyp = torch.full((len(src), T), BOS)
    words = torch.zeros(len(src), T, dtype=torch.long)
    for t in range(T):
        words[:, t] = dec(hyp, memory)[:, t].argmax(-1)
        if t + 1 < T:
            hyp[:, t + 1] = words[:, t]
    return words


enc, dec = Encoder(), Decoder()
params = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.Adam(params, lr=4e-3)

for step in range(1, 221):
    enc.train(), dec.train()
    src, dec_in, tgt = batch(48)
    log_p = F.log_softmax(dec(dec_in, enc(src)), -1)
    loss = -log_p.gather(-1, tgt.unsqueeze(-1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        enc.eval(), dec.eval()
        src, _, tgt = batch(200)
        acc = (translate(enc, dec, src) == tgt).float().mean().item()
        print(f"step {step:3d}: loss {loss.item():.4f}, words right when translating {acc:.1%}")
