"""Masked autoregressive flow for five correlated, skewed daily returns; warm-up, then linear decay; weight averaging."""

import math

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

D = 5


class MaskedLinear(nn.Linear):
    def __init__(self, deg_in, deg_out, strict=False):
        super().__init__(len(deg_in), len(deg_out))
        rule = deg_out[:, None] > deg_in[None, :] if strict else deg_out[:, None] >= deg_in[None, :]
        self.register_buffer("mask", rule.float())

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


class MADE(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        d_in = torch.arange(1, D + 1)
        d_hid = torch.arange(width) % (D - 1) + 1
        self.a = MaskedLinear(d_in, d_hid)
        self.b = MaskedLinear(d_hid, d_in.repeat(2), strict=True)
        nn.init.zeros_(self.b.weight)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        mu, log_s = self.b(torch.tanh(self.a(x))).chunk(2, dim=1)
        return (x - mu) * torch.exp(-log_s), -log_s.sum(1)


class Flow(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.steps = nn.ModuleList([MADE() for _ in range(depth)])

    def forward(self, x):
        log_det = torch.zeros(len(x))
        for step in self.steps:
            x, ld = step(x)
            x, log_det = x.flip(1), log_det + ld
        return -0.5 * (x**2 + math.log(2 * math.pi)).sum(1) + log_det


def returns(n):
    market = torch.randn(n, 1)
    others = torch.stack([0.9 * market[:, 0] + 0.15 * torch.randn(n) for _ in range(D - 1)], dim=1)
    others[:, 1] += 0.4 * market[:, 0] ** 2
    others[:, 3] *= torch.exp(0.4 * market[:, 0])
    return torch.cat([market, others], dim=1)


torch.manual_seed(77)
train, test = returns(4000), returns(1000)
mean, std = train.mean(0), train.std(0)
train, test = (train - mean) / std, (test - mean) / std

flow = Flow()
average = AveragedModel(flow, avg_fn=lambda old, new, k: 0.97 * old + 0.03 * new)
opt = torch.optim.AdamW(flow.parameters(), lr=6e-3, weight_decay=1e-4)
TOTAL, WARM = 400, 30
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / WARM, (TOTAL - s) / (TOTAL - WARM)))
for s in range(TOTAL):
    batch = train[torch.randint(0, len(train), (100,))]
    loss = -flow(batch).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(flow.parameters(), 2.0)
    opt.step()
    sched.step()
    average.update_parameters(flow)
    if s % 80 == 79:
        with torch.no_grad():
            print(
                f"{s + 1}: nll {loss.item():.3f}  test {-flow(test).mean():.3f}  averaged {-average(test).mean():.3f}"
            )
