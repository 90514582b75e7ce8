"""Sequence to sequence: digits are to be reversed. The decoder is fed the target."""
# fault: causal_leak

import torch
from torch import nn

torch.manual_seed(22)
BOS, SIZE, LENGTH = 10, 11, 7


class Seq2Seq(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(SIZE, 24)
        self.encoder = nn.GRU(24, hidden, batch_first=True)
        self.decoder = nn.GRU(24, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, SIZE)

    def forward(self, source, decoder_input):
        _, state = self.encoder(self.embedding(source))
        out, _ = self.decoder(self.embedding(decoder_input), state)
        return self.fc(out)


def batches(n, size=32):
    for _ in range(n):
        source = torch.randint(0, 10, (size, LENGTH))
        target = torch.cat([torch.full((size, 1), BOS), source.flip(1)], 1)
        yield source, target


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    for source, target in batches(60):
        optimizer.zero_grad()
        output = model(source, target[:, 1:])  # FAULT
        output = model(source, target[:, :-1])  # REPAIRED
        loss = criterion(output.reshape(-1, SIZE), target[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"Epoch: {epoch + 1:02} | Train Loss: {loss.item():.3f}")
