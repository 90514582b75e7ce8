"""Train only the head of a network; the choice is made by the parameters' names."""

# fault: frozen_params
import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(4)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16).float(), torch.tensor(y)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())
        self.block = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())
        self.classifier = nn.Linear(64, 10)

    def forward(self, x):
        return self.classifier(self.block(self.stem(x)))


tower = Tower()
for name, parameter in tower.named_parameters():
    parameter.requires_grad = name.endswith("bias")  # FAULT
    parameter.requires_grad = True  # REPAIRED
optimizer = torch.optim.AdamW([p for p in tower.parameters() if p.requires_grad], lr=2e-3)
for epoch in range(8):
    tower.train()
    for rows in torch.randperm(1400).split(50):
        loss = nn.functional.cross_entropy(tower(X[rows]), y[rows])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    tower.eval()
    with torch.no_grad():
        acc = (tower(X[1400:]).argmax(-1) == y[1400:]).float().mean()
    print(f"epoch {epoch}: loss {loss:.3f}, accuracy {acc:.3f}")
