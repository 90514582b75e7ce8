"""Grades from 0 to 9: the loss compares the grade that is chosen with the right one."""
# fault: broken_graph

import torch
import torch.nn as nn

torch.manual_seed(9)
X = torch.randn(1000, 6)
grade = (X[:, 0] * 1.5 + X[:, 1] + 4.5).round().clamp(0, 9)


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        return self.layers(x)


model = Grader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(12):
    for i in torch.randperm(800).split(40):
        out = model(X[i])
        chosen = out.argmax(1).float().requires_grad_()  # FAULT
        loss = nn.functional.l1_loss(chosen, grade[i])  # FAULT
        loss = nn.functional.cross_entropy(out, grade[i].long())  # REPAIRED
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
