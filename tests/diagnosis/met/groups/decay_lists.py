"""Weights with decay, biases and norms without; the lists are filled by the kind of module."""
# fault: optimizer_missing_params

import torch
import torch.nn as nn

torch.manual_seed(3)
ids = torch.randint(0, 15, (900, 8))
y = (ids.float().mean(1) > 7).long()


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(15, 24)
        self.pos = nn.Parameter(torch.randn(8, 24) * 0.5)
        self.mix, self.norm, self.out = nn.Linear(24, 48), nn.LayerNorm(48), nn.Linear(48, 2)

    def forward(self, t):
        return self.out(self.norm(torch.relu(self.mix(self.tok(t) + self.pos)).mean(1)))


net = Text()
decay, plain = [], []
for module in net.modules():
    if isinstance(module, nn.Linear):
        decay.append(module.weight)
        plain.append(module.bias)
    elif isinstance(module, (nn.Embedding, nn.LayerNorm)):
        plain += list(module.parameters())
plain.append(net.pos)  # REPAIRED
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=2e-3)
for epoch in range(10):
    for i in torch.randperm(900).split(45):
        loss = nn.functional.cross_entropy(net(ids[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
