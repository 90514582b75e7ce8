"""A student learns the soft answers of a table of votes by the Kullback-Leibler divergence."""
# fault: softmax_before_ce

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
X = torch.randn(1200, 10)
W = torch.randn(10, 6)
votes = F.softmax(2 * torch.tanh(X @ W), dim=1)
student = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 6))
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(15):
    for i in torch.randperm(1000).split(50):
        answer = F.softmax(student(X[i]), dim=1)  # FAULT
        answer = F.log_softmax(student(X[i]), dim=1)  # REPAIRED
        loss = F.kl_div(answer, votes[i], reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        same = (student(X[1000:]).argmax(1) == votes[1000:].argmax(1)).float().mean().item()
    print(epoch, loss.item(), same)
