"""Tag each word of generated sentences; the sentences have different lengths."""

# fault: ignored_class
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

random.seed(5)
torch.manual_seed(5)
NOUN, VERB, ADJ = 0, 1, 2
PAD_TAG = 0  # FAULT
PAD_TAG = -100  # REPAIRED
VOCAB = {NOUN: range(1, 20), VERB: range(20, 40), ADJ: range(40, 60)}


def sentence():
    tags = [random.choice([NOUN, VERB, ADJ]) for _ in range(random.randint(4, 12))]
    words = [random.choice(VOCAB[tag]) for tag in tags]
    return torch.tensor(words), torch.tensor(tags)


corpus = [sentence() for _ in range(500)]
held = [sentence() for _ in range(100)]


def collate(items):
    words, tags = zip(*items)
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True, padding_value=PAD_TAG)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(60, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(48, 3)

    def forward(self, words):
        out, _ = self.lstm(self.embedding(words))
        return self.hidden2tag(out)


tagger = Tagger()
loss_function = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
optimizer = torch.optim.Adam(tagger.parameters(), lr=0.01)
loader = torch.utils.data.DataLoader(corpus, batch_size=25, shuffle=True, collate_fn=collate)
for epoch in range(6):
    for words, tags in loader:
        tagger.zero_grad()
        scores = tagger(words)
        loss = loss_function(scores.reshape(-1, 3), tags.reshape(-1))
        loss.backward()
        optimizer.step()
    right = total = 0
    with torch.no_grad():
        for words, tags in held:
            right += (tagger(words[None])[0].argmax(-1) == tags).sum().item()
            total += len(tags)
    print(epoch, loss.item(), "tags right", right / total)
