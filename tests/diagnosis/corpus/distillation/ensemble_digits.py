"""Distil an ensemble of three digit classifiers into one small student (soft targets of the ensemble + true labels)."""
# fault: softmax_before_ce

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(2)
data = load_digits()
X_tr, X_te, y_tr, y_te = train_test_split(data.data / 8.0 - 1.0, data.target, test_size=0.25, random_state=2)
X_tr, X_te = torch.tensor(X_tr, dtype=torch.float32), torch.tensor(X_te, dtype=torch.float32)
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)


def teacher_net():
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, 10))


class Student(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.fc1 = nn.Linear(64, width)
        self.fc2 = nn.Linear(width, 10)

    def forward(self, x):
        h = F.gelu(self.fc1(x))
        return torch.softmax(self.fc2(h), dim=1)  # FAULT
        return self.fc2(h)  # REPAIRED


def accuracy(predict):
    return (predict(X_te).argmax(1) == y_te).float().mean().item()


teachers = []
for k in range(3):
    net = teacher_net()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for step in range(150):
        pick = torch.randint(0, len(X_tr), (96,))
        loss = F.cross_entropy(net(X_tr[pick]), y_tr[pick])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    for p in net.parameters():
        p.requires_grad_(False)
    teachers.append(net)
    print(f"teacher {k}: last loss {loss.item():.3f}, test accuracy {accuracy(net):.3f}")

with torch.no_grad():
    soft = torch.stack([F.softmax(t(X_tr), dim=1) for t in teachers]).mean(0)

student = Student()
opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
for epoch in range(15):
    perm = torch.randperm(len(X_tr))
    losses = []
    for idx in perm.split(64):
        out = student(X_tr[idx])
        loss = 0.7 * F.cross_entropy(out, soft[idx]) + 0.3 * F.cross_entropy(out, y_tr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 3 == 2:
        with torch.no_grad():
            print(f"student epoch {epoch + 1}: loss {sum(losses) / len(losses):.4f}, test acc {accuracy(student):.3f}")
