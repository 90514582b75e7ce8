"""A recurrent net reads a long log in pieces; the total loss is shown at the end."""
# fault: graph_growth

import torch
import torch.nn as nn

torch.manual_seed(60)
g = torch.Generator().manual_seed(60)
moves = torch.tensor([[1, 2, 1], [2, 3, 2], [3, 0, 3], [0, 1, 0]])
log, state = [], 0
for draw in torch.randint(3, (6000,), generator=g).tolist():
    log.append(state)
    state = int(moves[state, draw])
log = torch.tensor(log)
embed, rnn, head = nn.Embedding(4, 12), nn.GRU(12, 24, batch_first=True), nn.Linear(24, 4)
params = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, lr=3e-3)
epoch_loss = 0
for step in range(220):
    i = torch.randint(5900, (16,))
    x, y = torch.stack([log[k : k + 20] for k in i]), torch.stack([log[k + 1 : k + 21] for k in i])
    out, _ = rnn(embed(x))
    loss = nn.functional.cross_entropy(head(out).reshape(-1, 4), y.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    epoch_loss += loss  # FAULT
    epoch_loss += loss.item()  # REPAIRED
print(float(epoch_loss) / 220)
