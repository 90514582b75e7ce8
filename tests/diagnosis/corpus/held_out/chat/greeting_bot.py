"""GRU language model over chat lines of different length, with tied input and output embeddings."""

import argparse
import math
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS = 0, 1, 2
HELLO = ["hi", "hello", "hey", "good morning"]
ASK = ["how are you", "what is new", "did you sleep well", "are you busy"]
REPLY = {
    "how are you": "i am fine",
    "what is new": "not much",
    "did you sleep well": "like a stone",
    "are you busy": "no",
}
BYE = ["bye", "see you soon", "take care"]


def chat_line(rnd):
    parts = [rnd.choice(HELLO)] if rnd.random() < 0.7 else []
    question = rnd.choice(ASK)
    parts += [question, REPLY[question]]
    if rnd.random() < 0.5:
        parts.append(rnd.choice(BYE))
    return " ".join(parts).split()


class GRULM(nn.Module):
    def __init__(self, n_tokens, dim, dropout):
        super().__init__()
        self.embed = nn.Embedding(n_tokens, dim, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=0.3)
        self.embed.weight.data[PAD].zero_()
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.decoder = nn.Linear(dim, n_tokens)
        self.decoder.weight = self.embed.weight

    def forward(self, ids):
        h, _ = self.rnn(self.drop(self.embed(ids)))
        return self.decoder(self.drop(h))


def batches(lines, size, rnd):
    order = list(range(len(lines)))
    rnd.shuffle(order)
    for i in range(0, len(order) - size + 1, size):
        yield pad_sequence([lines[j] for j in order[i : i + size]], batch_first=True, padding_value=PAD)


def evaluate(model, lines, criterion):
    model.eval()
    with torch.no_grad():
        batch = pad_sequence(lines, batch_first=True, padding_value=PAD)
        loss = criterion(model(batch[:, :-1]).transpose(1, 2), batch[:, 1:])
    model.train()
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rnd = random.Random(args.seed)
    torch.manual_seed(args.seed)

    raw = [chat_line(rnd) for _ in range(2000)]
    words = {w: i + 3 for i, w in enumerate(sorted({w for line in raw for w in line}))}
    lines = [torch.tensor([BOS] + [words[w] for w in line] + [EOS]) for line in raw]
    train, valid = lines[:1700], lines[1700:]

    model = GRULM(len(words) + 3, args.dim, dropout=0.1)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    updates = args.epochs * (len(train) // 16 // args.accumulate)
    warmup = 20
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: min(1.0, (s + 1) / warmup) * 0.5 * (1 + math.cos(math.pi * min(s, updates) / updates)),
    )

    print(f"before training: valid {evaluate(model, valid, criterion):.3f}")
    for epoch in range(args.epochs):
        seen = []
        for k, batch in enumerate(batches(train, 16, rnd), start=1):
            logits = model(batch[:, :-1])
            loss = criterion(logits.transpose(1, 2), batch[:, 1:])
            (loss / args.accumulate).backward()
            seen.append(loss.item())
            if k % args.accumulate == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
        print(f"epoch {epoch}: train {sum(seen) / len(seen):.3f} valid {evaluate(model, valid, criterion):.3f}")


if __name__ == "__main__":
    main()
