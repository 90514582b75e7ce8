"""Cross-attention from words to regions; keys are transposed before the product."""
# fault: wrong_softmax_dim

import torch
import torch.nn as nn

torch.manual_seed(5)
regions = torch.randn(800, 9, 16)
pick = torch.randint(9, (800, 4))
words = torch.gather(regions, 1, pick[..., None].expand(-1, -1, 16))[..., :6] + 0.05 * torch.randn(800, 4, 6)
target = torch.gather(regions, 1, pick[..., None].expand(-1, -1, 16))[..., 8:12]


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(6, 32), nn.Linear(16, 32), nn.Linear(16, 32)
        self.out = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, w, r):
        logits = torch.matmul(self.k(r), self.q(w).transpose(-2, -1)) / 32**0.5
        attn = torch.softmax(logits, dim=-1)  # FAULT
        attn = torch.softmax(logits, dim=-2)  # REPAIRED
        return self.out(torch.matmul(attn.transpose(-2, -1), self.v(r)))


model = Cross()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    for i in torch.randperm(700).split(35):
        loss = nn.functional.mse_loss(model(words[i], regions[i]), target[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
