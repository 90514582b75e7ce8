"""Views that split and join axes in many ways, all of them in order: groups, patches, windows, folded batches."""

import torch
import torch.nn as nn

torch.manual_seed(5)
x = torch.randn(600, 4, 8, 8)
y = x[:, :, 2:6, 2:6].mean((2, 3))


class Views(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.mix, self.head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16 * 16, 4)

    def forward(self, t):
        b, c, h, w = t.shape
        p = t.reshape(b, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(b, 16, c * 4)
        p = torch.relu(self.patch(p.reshape(b * 16, -1))).view(b, 16, 16)
        g = p.view(b, 4, 4, 16).transpose(1, 2).reshape(b, 16, 16)
        return self.head(torch.relu(self.mix(g) + p).view(b, -1))


model = Views()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    for i in torch.randperm(500).split(25):
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(epoch, loss.item())
