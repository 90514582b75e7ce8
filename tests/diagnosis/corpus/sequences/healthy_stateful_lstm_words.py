"""Language model over an invented tongue: an LSTM that carries its state along the text, truncated BPTT."""

import logging
import math

import numpy as np
import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("wordlm")
rng = np.random.default_rng(21)
torch.manual_seed(21)

syllables = ["ka", "lo", "mi", "ten", "su", "ra", "vi", "no", "pel", "zu"]
lexicon = sorted({"".join(rng.choice(syllables, size=rng.integers(1, 4))) for _ in range(40)})
follows = {w: rng.choice(len(lexicon), size=3, replace=False) for w in lexicon}
word, words = lexicon[0], []
for _ in range(11000):
    word = lexicon[rng.choice(follows[word], p=[0.6, 0.3, 0.1])]
    words.append(word)
text = " ".join(words)
alphabet = sorted(set(text))
ids = torch.tensor([alphabet.index(c) for c in text])


def batchify(stream, columns):
    rows = len(stream) // columns
    return stream[: rows * columns].view(columns, rows).t().contiguous()


cut = int(len(ids) * 0.85)
train_data, valid_data = batchify(ids[:cut], 20), batchify(ids[cut:], 10)


class WordLM(nn.Module):
    def __init__(self, n_chars, emb=24, hidden=96):
        super().__init__()
        self.hidden = hidden
        self.drop = nn.Dropout(0.05)
        self.encoder = nn.Embedding(n_chars, emb)
        self.lstm = nn.LSTM(emb, hidden)
        self.decoder = nn.Linear(hidden, n_chars)

    def init_hidden(self, batch):
        return torch.zeros(1, batch, self.hidden), torch.zeros(1, batch, self.hidden)

    def forward(self, tokens, hidden):
        out, hidden = self.lstm(self.drop(self.encoder(tokens)), hidden)
        return self.decoder(self.drop(out)), hidden


def repackage(hidden):
    return tuple(h.detach() for h in hidden)


def evaluate(model, data, criterion, bptt):
    model.eval()
    hidden, total, count = model.init_hidden(data.size(1)), 0.0, 0
    with torch.no_grad():
        for i in range(0, len(data) - 1, bptt):
            n = min(bptt, len(data) - 1 - i)
            out, hidden = model(data[i : i + n], hidden)
            total += n * criterion(out.flatten(0, 1), data[i + 1 : i + 1 + n].flatten()).item()
            count += n
    return total / count


model, criterion, bptt = WordLM(len(alphabet)), nn.CrossEntropyLoss(), 25
optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.6)
for epoch in range(3):
    model.train()
    hidden = model.init_hidden(train_data.size(1))
    for i in range(0, len(train_data) - 1 - bptt, bptt):
        hidden = repackage(hidden)
        out, hidden = model(train_data[i : i + bptt], hidden)
        loss = criterion(out.flatten(0, 1), train_data[i + 1 : i + 1 + bptt].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    val = evaluate(model, valid_data, criterion, bptt)
    log.info("epoch %d | last loss %.3f | valid loss %.3f | valid ppl %.2f", epoch, loss.item(), val, math.exp(val))
