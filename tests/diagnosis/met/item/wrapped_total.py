"""Two losses are added up and wrapped in a tensor."""
# fault: broken_graph

import torch
import torch.nn as nn

torch.manual_seed(2)
x = torch.randn(800, 6)
y = x[:, :1].abs()
enc, dec, head = nn.Linear(6, 12), nn.Linear(12, 6), nn.Linear(12, 1)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *head.parameters()], lr=3e-3)
for step in range(300):
    i = torch.randint(800, (40,))
    h = torch.relu(enc(x[i]))
    rebuilt = nn.functional.mse_loss(dec(h), x[i])
    answer = nn.functional.mse_loss(head(h), y[i])
    loss = answer + torch.tensor(rebuilt.item(), requires_grad=True)  # FAULT
    loss = answer + rebuilt  # REPAIRED
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, rebuilt.item(), answer.item())
