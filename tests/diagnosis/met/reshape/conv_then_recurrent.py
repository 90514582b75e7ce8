"""A convolution finds motifs, an LSTM reads them in order."""
# fault: view_mixes_axes

import torch
import torch.nn as nn

torch.manual_seed(2)
x = torch.randn(800, 3, 24)
y = (x[:, 0, :8].sum(1) > x[:, 1, 16:].sum(1)).long()


class ConvLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.lstm, self.head = (
            nn.Conv1d(3, 16, 3, padding=1),
            nn.LSTM(16, 24, batch_first=True),
            nn.Linear(24, 2),
        )

    def forward(self, t):
        f = torch.relu(self.conv(t))
        f = f.view(f.size(0), f.size(2), f.size(1))  # FAULT
        f = f.permute(0, 2, 1)  # REPAIRED
        out, _ = self.lstm(f)
        return self.head(out.mean(1))


model = ConvLSTM()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    for i in torch.randperm(700).split(35):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x[700:]).argmax(1) == y[700:]).float().mean().item())
