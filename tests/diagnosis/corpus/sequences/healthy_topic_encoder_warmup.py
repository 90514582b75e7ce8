"""Classify messages of unequal length by topic: transformer encoder, padding masks, linear warm-up and decay."""

import math
import sys

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

TOPICS, PER_TOPIC, COMMON = 4, 25, 60
VOCAB = 1 + TOPICS * PER_TOPIC + COMMON  # 0 is <pad>


def write_message(topic, gen):
    n = int(torch.randint(5, 28, (1,), generator=gen))
    common = torch.randint(1 + TOPICS * PER_TOPIC, VOCAB, (n,), generator=gen)
    own = torch.randint(0, PER_TOPIC, (n,), generator=gen) + 1 + topic * PER_TOPIC
    other = torch.randint(1, 1 + TOPICS * PER_TOPIC, (n,), generator=gen)
    u = torch.rand(n, generator=gen)
    return torch.where(u < 0.35, own, torch.where(u < 0.45, other, common))


def corpus(n, seed):
    gen = torch.Generator().manual_seed(seed)
    topics = torch.randint(0, TOPICS, (n,), generator=gen).tolist()
    return [(write_message(t, gen), t) for t in topics]


def collate(batch):
    texts, topics = zip(*batch)
    return pad_sequence(texts, batch_first=True), torch.tensor(topics)


class TopicModel(nn.Module):
    def __init__(self, d=32, heads=4, layers=2):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d, padding_idx=0)
        pos, div = torch.arange(40).unsqueeze(1), torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        table = torch.zeros(40, d)
        table[:, 0::2], table[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("table", table)
        layer = nn.TransformerEncoderLayer(d, heads, 64, dropout=0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.fc = nn.Linear(d, TOPICS)

    def forward(self, ids):
        pad = ids == 0
        h = self.encoder(self.emb(ids) + self.table[: ids.size(1)], src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).float()
        return self.fc((h * keep).sum(1) / keep.sum(1))


def main():
    torch.manual_seed(7)
    train_dl = DataLoader(corpus(2000, 1), batch_size=40, shuffle=True, collate_fn=collate)
    test = corpus(600, 2)
    test_dl = DataLoader(test, batch_size=150, collate_fn=collate)
    model = TopicModel()
    epochs, warmup = 3, 30
    total_steps = epochs * len(train_dl)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    ramp = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, max(0.0, (total_steps - s) / (total_steps - warmup)))
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for ids, topic in train_dl:
            loss = criterion(model(ids), topic)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ramp.step()
            running += loss.item() / len(train_dl)
        model.eval()
        with torch.no_grad():
            hits = sum((model(ids).argmax(1) == topic).sum().item() for ids, topic in test_dl)
        print(f"epoch {epoch}: loss {running:.3f}  test acc {hits / len(test):.3f}  lr {ramp.get_last_lr()[0]:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
