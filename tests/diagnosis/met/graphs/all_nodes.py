"""Papers that cite each other, in four fields; some are kept for testing, and the loss is taken over all of them."""
# fault: data_leak

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(28)
N, FIELDS = 400, 4
field = torch.randint(FIELDS, (N,))
same = field[:, None] == field[None]
adjacency = (torch.rand(N, N) < torch.where(same, 0.02, 0.006)).float()
adjacency = ((adjacency + adjacency.T) > 0).float() + torch.eye(N)
norm = adjacency.sum(1).rsqrt()
adjacency = norm[:, None] * adjacency * norm[None]
features = (torch.rand(N, 60) < 0.1).float()
features[torch.arange(N), field * 5 + torch.randint(5, (N,))] = 1.0
train_mask = torch.rand(N) < 0.3
test_mask = ~train_mask


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Linear(60, 32, bias=False), nn.Linear(32, FIELDS, bias=False)

    def forward(self, x):
        x = F.relu(adjacency @ self.w1(x))
        return F.log_softmax(adjacency @ self.w2(F.dropout(x, 0.3, self.training)), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(80):
    model.train()
    optimizer.zero_grad()
    out = model(features)
    loss = F.nll_loss(out, field)  # FAULT
    loss = F.nll_loss(out[train_mask], field[train_mask])  # REPAIRED
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = model(features)
        test_loss = F.nll_loss(guess[test_mask], field[test_mask])
    if epoch % 20 == 0:
        print(epoch, loss.item(), test_loss.item(), (guess.argmax(1) == field)[test_mask].float().mean().item())
