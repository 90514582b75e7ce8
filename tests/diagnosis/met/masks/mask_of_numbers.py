"""Peptides are read letter by letter; the mask is made float for the library's decoder stack."""
# fault: causal_leak

import torch
from torch import nn

torch.manual_seed(0)
VOCAB, LENGTH = 22, 16


class PeptideModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.place = nn.Parameter(torch.randn(LENGTH, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.stack = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.final = nn.Linear(dim, VOCAB)

    def forward(self, peptides):
        n = peptides.shape[1]
        mask = torch.ones(n, n).triu(1).float()  # FAULT
        mask = torch.ones(n, n).triu(1).bool()  # REPAIRED
        hidden = self.stack(self.embed(peptides) + self.place[:n], mask=mask)
        return self.final(hidden)


start = torch.randint(1, 21, (900, 1))
rows = [start]
for _ in range(LENGTH):
    jump = torch.randint(1, 4, (900, 1))
    rows.append((rows[-1] + jump) % 20 + 1)
peptides = torch.cat(rows, 1)

model = PeptideModel()
optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    for batch in peptides[torch.randperm(900)].split(30):
        optimiser.zero_grad()
        scores = model(batch[:, :-1])
        loss = criterion(scores.reshape(-1, VOCAB), batch[:, 1:].reshape(-1))
        loss.backward()
        optimiser.step()
    print(f"epoch {epoch} {loss.item():.4f}")
