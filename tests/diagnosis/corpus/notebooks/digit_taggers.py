"""Ten yes/no taggers on the 8x8 digits in one network: is it a 0, is it a 1, ... (notebook export)."""
# fault: dead_relu

# %%
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

np.random.seed(4)
torch.manual_seed(4)

# %%
X, y = load_digits(return_X_y=True)
perm = np.random.permutation(len(X))
X, y = X[perm].astype("float32"), y[perm]
mu, sd = X[:1300].mean(0), X[:1300].std(0) + 1.0
X = torch.from_numpy((X - mu) / sd)
Y = F.one_hot(torch.from_numpy(y), 10).float()
x_train, y_train, x_val, y_val = X[:1300], Y[:1300], X[1300:], Y[1300:]
print(x_train.shape, y_train.shape, "share of ones:", y_train.mean().item())

# %%
# every tag is rare, so start from the prior as the focal loss people do
prior = 0.1
b0 = -math.log((1 - prior) / prior)
net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 10))
layers = net.modules()  # FAULT
layers = [net[-1]]  # REPAIRED
for m in layers:
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=0.6 * m.in_features**-0.5)
        nn.init.constant_(m.bias, b0)

# %%
opt = torch.optim.SGD(net.parameters(), lr=0.25, momentum=0.9, weight_decay=1e-4)
losses = []
for epoch in range(9):
    order = torch.randperm(len(x_train))
    for i in range(0, len(order), 50):
        idx = order[i : i + 50]
        loss = F.binary_cross_entropy_with_logits(net(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 4 == 0:
        print("epoch", epoch, "loss", np.mean(losses[-26:]))

# %%
with torch.no_grad():
    out = net(x_val)
    loss = F.binary_cross_entropy_with_logits(out, y_val)
    acc = (out.argmax(1) == y_val.argmax(1)).float().mean()
print("first losses", losses[:3])
print("train", np.mean(losses[-26:]), "val", loss.item(), "acc of the best tag", acc.item())
