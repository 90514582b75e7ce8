"""Faces of few people: embeddings on the sphere, a classifier on top."""
# fault: batch_mixing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
who = torch.randint(0, 8, (1000,))
faces = torch.randn(8, 20)[who] + 0.8 * torch.randn(1000, 20)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 16))
        self.people = nn.Linear(16, 8, bias=False)

    def forward(self, x):
        e = F.normalize(self.net(x), dim=0)  # FAULT
        e = F.normalize(self.net(x), dim=1)  # REPAIRED
        return self.people(8 * e)


model = Embedder()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    for i in torch.randperm(900).split(36):
        loss = F.cross_entropy(model(faces[i]), who[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
