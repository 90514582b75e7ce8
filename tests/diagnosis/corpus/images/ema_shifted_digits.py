"""Digits with random shifts and noise; an exponential moving average of the weights is what gets evaluated."""

import copy

import torch
from sklearn.datasets import load_digits
from torch import nn


class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay
        self.count = 0
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, source):
        self.count += 1
        d = min(self.decay, self.count / (self.count + 9))
        for mine, theirs in zip(self.model.parameters(), source.parameters()):
            mine.lerp_(theirs, 1 - d)
        for mine, theirs in zip(self.model.buffers(), source.buffers()):
            mine.copy_(theirs)


def augment(x):
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(x, (dy, dx), dims=(2, 3)) + 0.1 * torch.randn_like(x)


def accuracy(m, x, y):
    was_training = m.training
    m.eval()
    with torch.no_grad():
        hit = (m(x).argmax(1) == y).float().mean().item()
    m.train(was_training)
    return hit


torch.manual_seed(6)
bunch = load_digits()
xs = torch.tensor(bunch.images).float().unsqueeze(1).div(16).sub(0.3).div(0.38)
ys = torch.tensor(bunch.target)
mix = torch.randperm(len(xs))
x_train, y_train, x_test, y_test = xs[mix[:1350]], ys[mix[:1350]], xs[mix[1350:]], ys[mix[1350:]]

student = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.Conv2d(16, 24, 3, stride=2, padding=1, bias=False),
    nn.BatchNorm2d(24),
    nn.ReLU(),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(24 * 16, 10),
)
ema = EMA(student, decay=0.98)
opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
loss_fn = nn.CrossEntropyLoss()

student.train()
for it in range(1, 321):
    pick = torch.randint(0, len(x_train), (50,))
    loss = loss_fn(student(augment(x_train[pick])), y_train[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(student)
    if it % 40 == 0:
        raw, avg = accuracy(student, x_test, y_test), accuracy(ema.model, x_test, y_test)
        print(f"iter {it}: loss {loss.item():.3f}  test acc {raw:.3f}  ema {avg:.3f}")
