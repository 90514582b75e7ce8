"""Part-of-speech tags for sentences of a toy grammar with a bidirectional GRU."""

import random
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(12)
torch.manual_seed(12)

TAGS = ["DET", "ADJ", "NOUN", "VERB", "ADV", "PUNCT"]
stems = ["".join(random.choice("bdfklmnprst") + random.choice("aeiou") for _ in range(3)) for _ in range(150)]
WORDS = {
    "DET": ["the", "a", "this", "every"],
    "ADJ": stems[:45],
    "NOUN": stems[30:90],  # many stems serve as two parts of speech: the neighbours decide
    "VERB": stems[60:120],
    "ADV": stems[110:150] + stems[:10],
    "PUNCT": [".", "!"],
}


def noun_phrase():
    return ["DET"] + ["ADJ"] * random.choice([0, 0, 1, 2]) + ["NOUN"]


def sentence():
    tags = (["ADV"] if random.random() < 0.3 else []) + noun_phrase() + ["VERB"]
    if random.random() < 0.6:
        tags += noun_phrase()
    if random.random() < 0.5:
        tags.append("ADV")
    tags.append("PUNCT")
    return [(random.choice(WORDS[t]), t) for t in tags]


vocab = {w: i + 1 for i, w in enumerate(sorted({w for ws in WORDS.values() for w in ws}))}
sentences = [sentence() for _ in range(2000)]
train, dev = sentences[:1700], sentences[1700:]
counts = Counter(t for s in train for _, t in s)
tag_weight = torch.tensor([(sum(counts.values()) / counts[t]) ** 0.5 for t in TAGS])
tag_weight /= tag_weight.mean()


def tensorize(batch):
    longest = max(map(len, batch))
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    tags = torch.full((len(batch), longest), -100)
    for row, s in enumerate(batch):
        for col, (w, t) in enumerate(s):
            ids[row, col] = vocab[w]
            tags[row, col] = TAGS.index(t)
    return ids, tags


class Tagger(nn.Module):
    def __init__(self, emb=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(len(vocab) + 1, emb, padding_idx=0)
        self.dropout = nn.Dropout(0.2)
        self.gru = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, ids):
        h, _ = self.gru(self.dropout(self.emb(ids)))
        return self.tag(h)


def accuracy(tagger):
    tagger.eval()
    with torch.no_grad():
        ids, tags = tensorize(dev)
        ok = tagger(ids).argmax(-1) == tags
    tagger.train()
    return ok.sum().item() / (tags != -100).sum().item()


tagger = Tagger()
optim = torch.optim.Adagrad(tagger.parameters(), lr=0.05)
best = 0.0
for epoch in range(4):
    random.shuffle(train)
    losses = []
    for i in range(0, len(train), 20):
        ids, tags = tensorize(train[i : i + 20])
        loss = F.cross_entropy(tagger(ids).permute(0, 2, 1), tags, weight=tag_weight, ignore_index=-100)
        tagger.zero_grad()
        loss.backward()
        optim.step()
        losses.append(loss.item())
    acc = accuracy(tagger)
    best = max(best, acc)
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} dev accuracy {acc:.4f}")
print("best dev accuracy", round(best, 4))
