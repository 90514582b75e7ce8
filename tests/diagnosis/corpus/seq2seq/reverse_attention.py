"""GRU encoder-decoder with additive attention that spells words of varying length backwards (scheduled sampling)."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

random.seed(31)
torch.manual_seed(31)

LETTERS = "abcdefghijkl"
PAD, GO, END = 0, 1, 2
SIZE = len(LETTERS) + 3


def draw(n):
    words = ["".join(random.choices(LETTERS, k=random.randint(3, 7))) for _ in range(n)]
    code = [[LETTERS.index(c) + 3 for c in w] for w in words]
    src = pad_sequence([torch.tensor(c) for c in code], batch_first=True)
    tgt = pad_sequence([torch.tensor(c[::-1] + [END]) for c in code], batch_first=True)
    return src, torch.tensor([len(c) for c in code]), tgt


class Speller(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(SIZE, d, padding_idx=PAD)
        self.enc = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * d, d)
        self.dec = nn.GRUCell(3 * d, d)
        self.key, self.qry, self.score = nn.Linear(2 * d, d, bias=False), nn.Linear(d, d), nn.Linear(d, 1, bias=False)
        self.mix = nn.Linear(3 * d, d)
        self.out = nn.Linear(d, SIZE)
        self.out.weight = self.emb.weight  # tied

    def forward(self, src, lens, steps, truth=None, p_truth=0.0):
        packed = pack_padded_sequence(self.emb(src), lens, batch_first=True, enforce_sorted=False)
        mem, last = self.enc(packed)
        mem, _ = pad_packed_sequence(mem, batch_first=True)
        h = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))
        keys, blank = self.key(mem), src == PAD
        tok = torch.full((len(src),), GO)
        logits = []
        for t in range(steps):
            e = self.score(torch.tanh(keys + self.qry(h).unsqueeze(1))).squeeze(-1)
            w = e.masked_fill(blank, -1e9).softmax(1)
            ctx = (w.unsqueeze(1) @ mem).squeeze(1)
            h = self.dec(torch.cat([self.emb(tok), ctx], 1), h)
            step_logits = self.out(torch.tanh(self.mix(torch.cat([h, ctx], 1))))
            logits.append(step_logits)
            tok = step_logits.detach().argmax(1)
            if truth is not None:
                tok = torch.where(torch.rand(len(src)) < p_truth, truth[:, t], tok)
        return torch.stack(logits, 1)


def main(steps=150, warm=20):
    net = Speller()
    nn.init.normal_(net.emb.weight, std=0.15)
    with torch.no_grad():
        net.emb.weight[PAD].zero_()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / warm, (warm / (s + 1)) ** 0.5))
    for s in range(1, steps + 1):
        src, lens, tgt = draw(32)
        logits = net(src, lens, tgt.shape[1], tgt, p_truth=max(0.5, 1 - s / steps))
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)
        opt.zero_grad()
        loss.backward()
        norm = clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        if s % 30 == 0:
            net.eval()
            with torch.no_grad():
                src, lens, tgt = draw(200)
                guess = net(src, lens, tgt.shape[1]).argmax(-1)
                whole = ((guess == tgt) | (tgt == PAD)).all(1).float().mean()
            net.train()
            print(f"{s:4d}  loss {loss.item():.3f}  |g| {norm:.2f}  lr {sched.get_last_lr()[0]:.1e}  words {whole:.2%}")


if __name__ == "__main__":
    main()
