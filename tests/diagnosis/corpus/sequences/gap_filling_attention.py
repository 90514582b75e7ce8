"""Fill the gaps of irregularly sampled time series: attention from the missing times to the observed ones."""

# fault: wrong_softmax_dim
import math

import torch
from torch import nn

torch.manual_seed(6)
OBSERVED, MISSING = 32, 6


def series(n):
    """Two slow waves per series, read at random times between 0 and 1."""
    amp, phase = torch.randn(n, 2, 1), 2 * math.pi * torch.rand(n, 2, 1)
    freq = torch.tensor([0.7, 1.6]).view(1, 2, 1)
    t = torch.rand(n, 1, OBSERVED + MISSING)
    y = (amp * torch.sin(2 * math.pi * freq * t + phase)).sum(1) + 0.05 * torch.randn(n, OBSERVED + MISSING)
    t = t.squeeze(1)
    return t[:, :OBSERVED], y[:, :OBSERVED], t[:, OBSERVED:], y[:, OBSERVED:]


class GapFiller(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.register_buffer("waves", math.pi * torch.arange(1, 9).float())
        self.to_q = nn.Linear(16, d)
        self.to_k = nn.Linear(16, d)

    def code(self, t):
        angle = t.unsqueeze(-1) * self.waves
        return torch.cat([angle.sin(), angle.cos()], dim=-1)

    def forward(self, seen_t, seen_y, ask_t):
        q, k = self.to_q(self.code(ask_t)), self.to_k(self.code(seen_t))
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
        weights = scores.softmax(dim=1)  # FAULT
        weights = scores.softmax(dim=2)  # REPAIRED
        return torch.einsum("bqk,bk->bq", weights, seen_y)


filler = GapFiller()
opt = torch.optim.Adam(filler.parameters(), lr=1e-2)
held_out = series(500)
trace = []
for step in range(1, 501):
    seen_t, seen_y, ask_t, ask_y = series(48)
    loss = ((filler(seen_t, seen_y, ask_t) - ask_y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    trace.append(loss.item())
    if step % 100 == 0:
        with torch.no_grad():
            mse = ((filler(*held_out[:3]) - held_out[3]) ** 2).mean().item()
        explained = 1 - mse / held_out[3].var().item()
        print(f"step {step}: loss {sum(trace[-100:]) / 100:.4f}, held-out mse {mse:.4f}, R2 {explained:.3f}")
