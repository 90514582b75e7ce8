"""Next-note prediction: a GRU reads a simple generated melody and guesses the following pitch."""

# fault: missing_zero_grad
import random

import torch
import torch.nn as nn

random.seed(3)
torch.manual_seed(3)

SCALE = [0, 2, 4, 5, 7, 9, 11]
PITCHES = 24
LENGTH = 24


def melody():
    # a motif of scale steps repeated over a moving root, now and then a random ornament
    motif = [random.choice([0, 2, 4, 1]) for _ in range(4)]
    root, notes = random.randrange(4), []
    while len(notes) < LENGTH + 1:
        for step in motif:
            degree = root + step
            note = SCALE[degree % 7] + 12 * (degree // 7)
            if random.random() < 0.04:
                note = random.randrange(PITCHES)
            notes.append(note)
        root = (root + 3) % 7
    return notes[: LENGTH + 1]


songs = torch.unique(torch.tensor([melody() for _ in range(1500)]), dim=0)
songs = songs[torch.randperm(len(songs))]
train_songs, val_songs = songs[150:], songs[:150]


class MelodyRNN(nn.Module):
    def __init__(self, vocab, emb=16, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, vocab)

    def forward(self, x):
        out, _ = self.gru(self.emb(x))
        return self.fc(out)


def evaluate(model, data, criterion):
    model.eval()
    with torch.no_grad():
        logits = model(data[:, :-1])
        target = data[:, 1:]
        loss = criterion(logits.reshape(-1, PITCHES), target.reshape(-1)).item()
        acc = (logits.argmax(-1) == target).float().mean().item()
    return loss, acc


model = MelodyRNN(PITCHES)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
batch_size = 50

for epoch in range(12):
    model.train()
    shuffled = train_songs[torch.randperm(len(train_songs))]
    for batch in shuffled.split(batch_size):
        optimizer.zero_grad()  # REPAIRED
        logits = model(batch[:, :-1])
        loss = criterion(logits.reshape(-1, PITCHES), batch[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
    train_loss, _ = evaluate(model, train_songs, criterion)
    val_loss, val_acc = evaluate(model, val_songs, criterion)
    print(f"Epoch {epoch}: train {train_loss:.3f} val {val_loss:.3f} note accuracy {val_acc:.1%}")
