"""A small vision transformer: patches by a strided convolution, a class token, two encoder layers."""
# fault: view_mixes_axes

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(8)
digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(digits.target)


class TinyViT(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.patches = nn.Conv2d(1, dim, 2, stride=2)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, 17, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(dim, 10)

    def forward(self, images):
        h = self.patches(images)
        tokens = h.flatten(2).reshape(len(h), 16, 48)  # FAULT
        tokens = h.flatten(2).transpose(1, 2)  # REPAIRED
        tokens = torch.cat([self.cls.expand(len(h), -1, -1), tokens], 1) + self.pos
        return self.head(self.encoder(tokens)[:, 0])


model = TinyViT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
for epoch in range(6):
    model.train()
    for i in torch.randperm(1400).split(64):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item())
