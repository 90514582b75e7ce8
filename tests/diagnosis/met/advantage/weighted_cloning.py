"""Behaviour is cloned, each example weighed by how well it went."""
# fault: target_broadcast

import torch
import torch.nn as nn

torch.manual_seed(3)
obs = torch.randn(1200, 5)
good = (obs[:, :3]).argmax(1)
act = torch.where(torch.rand(1200) < 0.6, good, torch.randint(3, (1200,)))
gain = torch.where(act == good, 1.0, -1.0)[:, None] + 0.3 * torch.randn(1200, 1)

policy = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 3))
opt = torch.optim.Adam(policy.parameters(), lr=2e-3)
for epoch in range(12):
    for i in torch.randperm(1200).split(48):
        log_prob = policy(obs[i]).log_softmax(-1)[torch.arange(len(i)), act[i]]
        weight = gain[i].exp()
        weight = weight.squeeze(1)  # REPAIRED
        loss = -(log_prob * weight).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (policy(obs).argmax(1) == good).float().mean().item())
