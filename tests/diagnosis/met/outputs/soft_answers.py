"""Distil a larger network into a small one."""

# fault: softmax_before_ce
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16).float(), torch.tensor(y)
teacher = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for _ in range(6):
    for i in torch.randperm(1400).split(50):
        opt.zero_grad()
        F.cross_entropy(teacher(X[i]), y[i]).backward()
        opt.step()
teacher.eval()
student = nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
TEMPERATURE = 3.0
for epoch in range(10):
    for i in torch.randperm(1400).split(50):
        with torch.no_grad():
            soft = F.softmax(teacher(X[i]) / TEMPERATURE, dim=1)
        mine = F.softmax(student(X[i]) / TEMPERATURE, dim=1)  # FAULT
        mine = F.log_softmax(student(X[i]) / TEMPERATURE, dim=1)  # REPAIRED
        loss = F.kl_div(mine, soft, reduction="batchmean") * TEMPERATURE**2
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), (student(X[1400:]).argmax(1) == y[1400:]).float().mean().item())
