"""Language model over melodies of different lengths: padded batches, tied embeddings, accumulated gradients."""

import math
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

PAD, END, FIRST = 0, 1, 2
NOTES = 21
VOCAB = FIRST + NOTES
ACCUM = 2


def tune(g):
    """Walks up or down by a fixed interval, turning at the edge of the range, now and then holding a note."""
    length = int(torch.randint(8, 25, (1,), generator=g))
    at = int(torch.randint(0, NOTES, (1,), generator=g))
    by = int(torch.randint(1, 4, (1,), generator=g)) * (1 if torch.rand(1, generator=g) < 0.5 else -1)
    seq = []
    for _ in range(length):
        seq.append(FIRST + at)
        if torch.rand(1, generator=g) < 0.15:
            continue
        if not 0 <= at + by < NOTES:
            by = -by
        at += by
    return tuple(seq + [END])


class TiedLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.decode = nn.Linear(dim, VOCAB)
        self.decode.weight = self.embed.weight
        nn.init.normal_(self.embed.weight, 0.0, dim**-0.5)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens) * math.sqrt(self.embed.embedding_dim))
        return self.decode(self.drop(h))


def nll(lm, batch):
    padded = pad_sequence(batch, batch_first=True, padding_value=PAD)
    inp, tgt = padded[:, :-1], padded[:, 1:]
    per_token = F.cross_entropy(lm(inp).transpose(1, 2), tgt, reduction="none")
    mask = (tgt != PAD).float()
    return (per_token * mask).sum() / mask.sum()


def main():
    torch.manual_seed(40)
    g = torch.Generator().manual_seed(40)
    tunes = dict.fromkeys(tune(g) for _ in range(1500))  # no tune twice
    corpus = [torch.tensor(t) for t in tunes]
    train, valid = corpus[200:], corpus[:200]
    lm = TiedLM()
    opt = torch.optim.Adam(lm.parameters(), lr=6e-3)
    warmup, total = 20, 170
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda k: min((k + 1) / warmup, max(0.02, 1 - (k - warmup) / (total - warmup)))
    )
    updates, micro, running = 0, 0, 0.0
    while updates < total:
        order = torch.randperm(len(train)).tolist()
        for k in range(0, len(order), 22):
            loss = nll(lm, [train[j] for j in order[k : k + 22]])
            (loss / ACCUM).backward()
            running += loss.item() / ACCUM
            micro += 1
            if micro % ACCUM:
                continue
            nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            updates += 1
            if updates % 25 == 1:
                print(f"update {updates:4d} train perplexity {math.exp(running):.2f}")
            running = 0.0
            if updates == total:
                break
    lm.eval()
    with torch.no_grad():
        score = nll(lm, valid).item()
    print(f"validation loss {score:.3f} perplexity {math.exp(score):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
