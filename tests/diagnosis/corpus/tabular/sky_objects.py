"""Star, galaxy or quasar from five magnitudes: softmax classifier trained with SGD and Nesterov momentum."""
# fault: weight_decay_too_strong

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rs = np.random.RandomState(42)
torch.manual_seed(42)


def catalogue(n):
    kind = rs.randint(0, 3, size=n)
    t = rs.uniform(0, 1, size=n)
    curve = np.array([0.0, 1.1, -0.9])[kind]
    slope = np.array([1.2, 0.7, 0.2])[kind]
    r = rs.uniform(15, 21, size=n)
    u = r + 1.4 * slope + curve * t + rs.normal(0, 0.15, n)
    g = r + 0.6 * slope + 0.5 * curve * t**2 + rs.normal(0, 0.1, n)
    i = r - 0.3 * slope * (1 + t) + rs.normal(0, 0.1, n)
    z = r - 0.5 * slope + 0.3 * np.sin(4 * t) * curve + rs.normal(0, 0.15, n)
    return np.stack([u - g, g - r, r - i, i - z, r], axis=1), kind


feats, kinds = catalogue(7000)
mu, sigma = feats[:5600].mean(axis=0), feats[:5600].std(axis=0)
feats = torch.from_numpy(((feats - mu) / sigma).astype("float32"))
kinds = torch.from_numpy(kinds).long()
train_x, val_x = feats[:5600], feats[5600:]
train_y, val_y = kinds[:5600], kinds[5600:]

net = nn.Sequential(nn.Linear(5, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 3))
weight_decay = 0.5  # FAULT
weight_decay = 5e-4  # REPAIRED
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=weight_decay)

num_epochs, bs = 12, 112
for epoch in range(num_epochs):
    net.train()
    shuffled = np.random.permutation(5600)
    train_loss = 0.0
    for k in range(5600 // bs):
        rows = shuffled[k * bs : (k + 1) * bs]
        scores = net(train_x[rows])
        loss = F.cross_entropy(scores, train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / (5600 // bs)

    net.eval()
    with torch.no_grad():
        val_scores = net(val_x)
        val_loss = F.cross_entropy(val_scores, val_y).item()
        val_acc = 100.0 * (val_scores.argmax(1) == val_y).float().mean().item()
    message = "Epoch [{}/{}], Train: {:.4f}, Val: {:.4f}, Acc: {:.1f}%"
    print(message.format(epoch + 1, num_epochs, train_loss, val_loss, val_acc))
