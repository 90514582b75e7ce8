"""All three generators are used in the loop, and their states are shown at the end."""

import random

import numpy as np
import torch
from torch import nn

random.seed(9)
np.random.seed(9)
torch.manual_seed(9)
gen = torch.Generator().manual_seed(9)
model = nn.Sequential(
    nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 64), nn.AlphaDropout(0.1), nn.Linear(64, 1)
)
optim = torch.optim.Adam(model.parameters())
for step in range(70):
    x = torch.randn(32, 8) + torch.rand(1, generator=gen) * random.gauss(0, 0.1)
    y = torch.from_numpy(np.random.normal(x.numpy().sum(1, keepdims=True), 0.1).astype("float32"))
    if random.random() < 0.3:
        x = x[torch.randperm(32)[:20]]
        y = y[:20]
    optim.zero_grad()
    loss = nn.SmoothL1Loss()(model(x), y)
    loss.backward()
    optim.step()
    if step % 10 == 9:
        model.eval()
        with torch.no_grad():
            print("judged", model(torch.ones(1, 8)).item().hex())
        model.train()
    print(step, loss.item().hex())
print(random.random(), np.random.rand(), torch.rand(1).item(), torch.initial_seed())
print(
    torch.get_rng_state().sum().item(), hash(np.random.get_state()[1].tobytes()) % 1000 >= 0, random.getstate()[1][-1]
)
