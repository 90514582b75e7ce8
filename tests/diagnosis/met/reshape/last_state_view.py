"""Two-way LSTM; its last states of both directions are joined for the classifier."""
# fault: view_mixes_axes

import torch
import torch.nn as nn

torch.manual_seed(1)
seq = torch.randn(900, 14, 4)
label = (seq[:, :3, 0].mean(1) > 0).long() + 2 * (seq[:, -3:, 1].mean(1) > 0).long()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(4, 20, bidirectional=True, batch_first=True), nn.Linear(40, 4)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        joined = h.view(len(x), 2, 20).reshape(len(x), -1)  # FAULT
        joined = h.transpose(0, 1).reshape(len(x), -1)  # REPAIRED
        return self.fc(joined)


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(10):
    for i in torch.randperm(800).split(32):
        loss = nn.functional.cross_entropy(model(seq[i]), label[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(seq[800:]).argmax(1) == label[800:]).float().mean().item())
