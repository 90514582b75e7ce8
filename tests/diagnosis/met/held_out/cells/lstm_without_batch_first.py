"""Steps of a walk: is it a person or a dog? The last output is read of a recurrence that takes time first."""
# fault: batch_mixing

import torch
import torch.nn as nn

torch.manual_seed(21)
kind = torch.randint(2, (1000,))
pace = torch.where(kind == 0, 0.5, 0.9)[:, None] * torch.arange(20) + torch.rand(1000, 1) * 6
walks = torch.stack([torch.sin(pace), torch.cos(2 * pace)], 2) + 0.3 * torch.randn(1000, 20, 2)


class Walk(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 32)  # FAULT
        self.lstm = nn.LSTM(2, 32, batch_first=True)  # REPAIRED
        self.fc = nn.Linear(32, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


model = Walk()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for i in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(model(walks[i]), kind[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(walks[800:]).argmax(1) == kind[800:]).float().mean().item())
