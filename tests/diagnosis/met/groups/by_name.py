"""A pre-trained body with a low rate, a new head with a high one."""
# fault: optimizer_missing_params

import torch
import torch.nn as nn

torch.manual_seed(1)
x = torch.randn(800, 10)
y = (x[:, :5].sum(1) > 0).long()


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.classifier = nn.Linear(48, 2)

    def forward(self, t):
        return self.classifier(self.backbone(t))


net = Tuned()
body = [p for n, p in net.named_parameters() if "backbone" in n]
head = [p for n, p in net.named_parameters() if "fc" in n]  # FAULT
head = [p for n, p in net.named_parameters() if "classifier" in n]  # REPAIRED
opt = torch.optim.AdamW([{"params": body, "lr": 1e-3}, {"params": head, "lr": 5e-3}])
for epoch in range(12):
    for i in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
