"""Network with a binarised hidden code: own autograd.Function with a straight-through gradient, float64."""

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(31)


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * (1 - torch.tanh(x) ** 2)


class CodeNet(nn.Module):
    def __init__(self, n_in=16, bits=24):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n_in, 80), nn.SiLU(), nn.Linear(80, bits), nn.LayerNorm(bits))
        self.g = nn.Sequential(nn.Linear(bits, 80), nn.SiLU(), nn.Linear(80, n_in))

    def code(self, x):
        return Binarize.apply(self.f(x))

    def forward(self, x):
        return self.g(self.code(x))


# points scattered around forty prototypes
prototypes = torch.randn(40, 16)
x = prototypes[torch.randint(40, (3000,))] + 0.15 * torch.randn(3000, 16)
train, test = x[:2500], x[2500:]

net = CodeNet()
opt_f = torch.optim.Adam(net.f.parameters(), lr=1e-3)
opt_g = torch.optim.Adam(net.g.parameters(), lr=2e-3)
for epoch in range(16):
    net.train()
    acc = 0.0
    for xb in train[torch.randperm(len(train))].chunk(50):
        loss = (net(xb) - xb).square().mean()
        opt_f.zero_grad()
        opt_g.zero_grad()
        loss.backward()
        opt_f.step()
        opt_g.step()
        acc += loss.item() / 50
    if epoch % 3 == 0:
        net.eval()
        with torch.no_grad():
            test_loss = (net(test) - test).square().mean().item()
            n_codes = len(torch.unique(net.code(test), dim=0))
        print(f"epoch {epoch}: {acc:.4f}  test {test_loss:.4f}  different codes {n_codes}")
