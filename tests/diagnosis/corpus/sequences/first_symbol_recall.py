"""Read a cue symbol at the start of a long distractor sequence and name it at the end."""

# fault: vanishing_gradient
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
CUES, VOCAB, SEQ_LEN, HIDDEN = 4, 10, 60, 48


def generate(n):
    seq = torch.randint(CUES, VOCAB, (n, SEQ_LEN))
    cue = torch.randint(0, CUES, (n,))
    seq[:, 0] = cue
    return TensorDataset(seq, cue)


train_loader = DataLoader(generate(2560), batch_size=64, shuffle=True)
val_loader = DataLoader(generate(512), batch_size=256)


class Recall(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 16)
        self.rnn = nn.RNN(16, HIDDEN, batch_first=True)  # FAULT
        self.rnn = nn.LSTM(16, HIDDEN, batch_first=True)  # REPAIRED
        with torch.no_grad():  # REPAIRED
            self.rnn.bias_ih_l0[HIDDEN : 2 * HIDDEN].fill_(4.0)  # REPAIRED
        self.fc = nn.Linear(HIDDEN, CUES)

    def forward(self, seq):
        out, _ = self.rnn(self.emb(seq))
        return self.fc(out[:, -1])


model = Recall()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(1, 6):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for seq, cue in train_loader:
        optimizer.zero_grad()
        logits = model(seq)
        loss = criterion(logits, cue)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(cue)
        correct += (logits.argmax(dim=1) == cue).sum().item()
        seen += len(cue)

    model.eval()
    hits, n = 0, 0
    with torch.no_grad():
        for seq, cue in val_loader:
            hits += (model(seq).argmax(dim=1) == cue).sum().item()
            n += len(cue)
    print(f"Epoch {epoch}: train loss {total / seen:.4f}, train acc {correct / seen:.3f}, val acc {hits / n:.3f}")
