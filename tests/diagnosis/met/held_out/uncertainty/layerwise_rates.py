"""Groups with rates of their own, chosen by the names of layers."""
# fault: optimizer_missing_params

import torch
import torch.nn as nn

torch.manual_seed(17)
x = torch.randn(900, 10)
y = (x[:, 0] * x[:, 1] > 0).long()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(10, 64)
        self.block1, self.block2 = nn.Linear(64, 64), nn.Linear(64, 64)
        self.classifier = nn.Linear(64, 2)

    def forward(self, inputs):
        h = torch.relu(self.stem(inputs))
        h = h + torch.relu(self.block1(h))
        h = h + torch.relu(self.block2(h))
        return self.classifier(h)


net = Classifier()
named = list(net.named_parameters())
groups = [
    {"params": [p for n, p in named if n.startswith("stem")], "lr": 1e-3},
    {"params": [p for n, p in named if n.startswith("block")], "lr": 2e-3},
    {"params": [p for n, p in named if n.startswith("head")], "lr": 4e-3},  # FAULT
    {"params": [p for n, p in named if n.startswith("classifier")], "lr": 4e-3},  # REPAIRED
]
opt = torch.optim.AdamW([g for g in groups if g["params"]])
for epoch in range(15):
    for i in torch.randperm(900).split(45):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
