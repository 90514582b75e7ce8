"""A teacher without gradients, soft targets, and a student that is short of done."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(3)
d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
teacher = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for step in range(200):
    i = torch.randint(1500, (64,))
    loss = F.cross_entropy(teacher(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
teacher.eval()
student = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
for step in range(150):
    i = torch.randint(1500, (64,))
    with torch.no_grad():
        soft = F.softmax(teacher(x[i]) / 3, 1)
    out = student(x[i])
    loss = 9 * F.kl_div(F.log_softmax(out / 3, 1), soft, reduction="batchmean") + 0.3 * F.cross_entropy(out, y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
