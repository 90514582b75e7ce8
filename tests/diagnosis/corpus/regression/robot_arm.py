"""Learn the forward kinematics of a three-joint planar arm: joint angles to hand position."""
# fault: missing_zero_grad

import numpy as np
import torch
import torch.nn as nn

SEED = 5
np.random.seed(SEED)
torch.manual_seed(SEED)

LINKS = [0.6, 0.45, 0.3]


def kinematics(q):
    phi = np.cumsum(q, axis=1)
    x = sum(length * np.cos(phi[:, k]) for k, length in enumerate(LINKS))
    y = sum(length * np.sin(phi[:, k]) for k, length in enumerate(LINKS))
    return np.stack([x, y], axis=1)


def dataset(n):
    q = np.random.uniform(-1.6, 1.6, size=(n, 3))
    p = kinematics(q) + 0.01 * np.random.randn(n, 2)
    return torch.tensor(q, dtype=torch.float32), torch.tensor(p, dtype=torch.float32)


q_train, p_train = dataset(4096)
q_test, p_test = dataset(512)

arm = nn.Sequential(nn.Linear(3, 176), nn.Tanh(), nn.Linear(176, 176), nn.Tanh(), nn.Linear(176, 2))
mse = nn.MSELoss()
opt = torch.optim.Adam(arm.parameters(), lr=1e-3)

n_iter = 0
for epoch in range(14):
    total = 0
    order = np.random.permutation(len(q_train))
    for b in np.array_split(order, 64):
        opt.zero_grad()  # REPAIRED
        loss = mse(arm(q_train[b]), p_train[b])
        loss.backward()
        opt.step()
        total += loss.item()
        n_iter += 1
    if epoch % 2 == 1:
        with torch.no_grad():
            test = mse(arm(q_test), p_test).item()
        print(f"iter {n_iter:5d} | train mse {total / 64:.5f} | test mse {test:.5f} | rmse {test**0.5 * 100:.1f} cm")
