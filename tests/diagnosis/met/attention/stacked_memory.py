"""Which of several memories answers the question? Scores are made one by one and stacked."""
# fault: wrong_softmax_dim

import torch
import torch.nn as nn

torch.manual_seed(1)
g = torch.Generator().manual_seed(1)
memory = torch.randn(900, 6, 12, generator=g)
wanted = torch.randint(6, (900,), generator=g)
question = memory[torch.arange(900), wanted, :4] + 0.1 * torch.randn(900, 4, generator=g)
answer = (memory[torch.arange(900), wanted, 4:7]).argmax(1)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.ask, self.key = nn.Linear(4, 24), nn.Linear(12, 24)
        self.out = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 3))

    def forward(self, q, m):
        u = self.ask(q)
        scores = torch.stack([(u * self.key(m[:, j])).sum(1) for j in range(m.shape[1])])
        weights = torch.softmax(scores, dim=1)  # FAULT
        weights = torch.softmax(scores, dim=0)  # REPAIRED
        read = sum(weights[j].unsqueeze(1) * m[:, j] for j in range(m.shape[1]))
        return self.out(read)


model = Reader()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(15):
    for i in torch.randperm(800).split(32):
        loss = nn.functional.cross_entropy(model(question[i], memory[i]), answer[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(question[800:], memory[800:]).argmax(1) == answer[800:]).float().mean().item())
