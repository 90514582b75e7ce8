"""World model with a leaky memory, trained online on a stream of 32 simulated water tanks."""

# fault: graph_growth
import torch
from torch import nn

torch.manual_seed(17)
N_ENV, N_STEPS, MEM = 32, 280, 64


class Tanks:
    """two coupled tanks; only the lower level can be seen, and the valve moves in slow random waves"""

    def __init__(self, n):
        self.level = torch.rand(n, 2)
        self.valve = torch.rand(n, 1)

    def step(self):
        self.valve = (self.valve + 0.15 * torch.randn_like(self.valve)).clamp(0, 1)
        upper, lower = self.level[:, :1], self.level[:, 1:]
        flow = 0.5 * upper
        upper = upper + self.valve - flow
        lower = lower + flow - 0.3 * lower
        self.level = torch.cat([upper, lower], 1)
        return torch.cat([lower / 3 - 0.55, self.valve - 0.5], 1) * 2


class LeakyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(2, MEM)
        self.decay = torch.linspace(0.2, 0.95, MEM)
        self.predict = nn.Sequential(nn.Linear(MEM + 2, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, obs, memory):
        memory = self.decay * memory + (1 - self.decay) * torch.tanh(self.encode(obs))
        change = self.predict(torch.cat([memory, obs], 1))
        return change, memory


env, wm = Tanks(N_ENV), LeakyModel()
optimizer = torch.optim.Adam(wm.parameters(), lr=3e-3)
for _ in range(50):  # let the water settle
    obs = env.step()
memory = torch.zeros(N_ENV, MEM)
scores = []

for t in range(N_STEPS):
    change, memory = wm(obs, memory)
    nxt = env.step()
    target = (nxt[:, :1] - obs[:, :1]) * 8
    loss = nn.functional.mse_loss(change, target)

    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # FAULT
    loss.backward()  # REPAIRED
    optimizer.step()

    memory = memory.detach()  # REPAIRED
    obs = nxt
    scores.append((loss.item(), target.pow(2).mean().item()))
    if (t + 1) % 70 == 0:
        err, base = (sum(c) / 70 for c in zip(*scores[-70:]))
        print(f"t={t + 1:4d}  error {err:.4f}  (standing still would give {base:.4f})")
