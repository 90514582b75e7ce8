"""What a kite's height is worth: the values of a fixed way to fly it, learnt from a log of flights of twenty seconds."""
# fault: time_limit_as_end

import copy

import torch
import torch.nn as nn

torch.manual_seed(31)
FLIGHTS, SECONDS, GAMMA = 60, 20, 0.9


def fly():
    """Height and pull, second by second; the reward is the height. Below 0 it has crashed, which is rare."""
    s = torch.stack([0.3 + 0.4 * torch.rand(()), 0.1 * torch.randn(())])
    for t in range(SECONDS):
        pull = 0.8 * s[1] - 0.3 * (s[0] - 0.6) + 0.12 * torch.randn(())
        after = torch.stack([s[0] + 0.5 * pull, pull])
        crashed = bool(after[0] < 0)
        yield s, after[0].clamp(min=0), after, crashed, t == SECONDS - 1
        if crashed:
            return
        s = after


log = [step for _ in range(FLIGHTS) for step in fly()]
S, R, S2 = (torch.stack([step[i] for step in log]) for i in range(3))
crashed, landed = (torch.tensor([step[i] for step in log]) for i in (3, 4))
stop = crashed | landed  # FAULT
stop = crashed  # REPAIRED
value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
frozen = copy.deepcopy(value)
opt = torch.optim.Adam(value.parameters(), lr=3e-3)
for epoch in range(30):
    for rows in torch.randperm(len(log)).split(64):
        with torch.no_grad():
            further = R[rows] + GAMMA * frozen(S2[rows]).squeeze(1)
            y = torch.where(stop[rows], R[rows], further)
        loss = nn.functional.mse_loss(value(S[rows]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        frozen.load_state_dict(value.state_dict())
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: td error {loss.item():.5f}, mean value {y.mean():.3f}")
