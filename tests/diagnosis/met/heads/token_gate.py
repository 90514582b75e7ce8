"""Each token gets a gate, the gated mean is classified; the gate is normalised."""
# fault: softmax_of_one

import torch
from torch import nn

torch.manual_seed(9)
ids = torch.randint(2, 20, (900, 15))
flag = torch.randint(2, (900,))
ids[torch.arange(900), torch.randint(15, (900,))] = flag


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.gate, self.out = nn.Embedding(20, 16), nn.Linear(16, 1), nn.Linear(16, 2)

    def forward(self, t):
        e = self.emb(t)
        w = torch.softmax(self.gate(e).view(-1, 1), dim=1).view(len(t), -1, 1)  # FAULT
        w = torch.softmax(self.gate(e), dim=1)  # REPAIRED
        return self.out((w * e).sum(1))


model = Gated()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    for i in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(model(ids[i]), flag[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(ids[800:]).argmax(1) == flag[800:]).float().mean().item())
