"""Physics-informed network for the heat equation u_t = k u_xx on a rod: Adam, then L-BFGS, in double precision."""

import math

import torch

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
KAPPA = 0.1


def exact(x, t):
    return torch.exp(-KAPPA * math.pi**2 * t) * torch.sin(math.pi * x)


class Sine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(1.5))

    def forward(self, z):
        return torch.sin(self.scale * z)


u = torch.nn.Sequential(
    torch.nn.Linear(2, 24), Sine(), torch.nn.Linear(24, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1)
)

# fixed points inside, on the two ends and at the beginning
inner = torch.rand(400, 2)
ends_t = torch.rand(60, 1)
ends = torch.cat([torch.cat([torch.zeros_like(ends_t), ends_t], 1), torch.cat([torch.ones_like(ends_t), ends_t], 1)])
start = torch.cat([torch.rand(60, 1), torch.zeros(60, 1)], 1)
check = torch.rand(500, 2)


def residual(xt):
    xt = xt.clone().requires_grad_(True)
    val = u(xt)
    (g,) = torch.autograd.grad(val.sum(), xt, create_graph=True)
    (gg,) = torch.autograd.grad(g[:, 0].sum(), xt, create_graph=True)
    return g[:, 1] - KAPPA * gg[:, 0]


def losses():
    pde = residual(inner).square().mean()
    edge = u(ends).square().mean()
    init = (u(start) - exact(start[:, :1], start[:, 1:])).square().mean()
    return pde, edge, init


def report(tag, loss):
    with torch.no_grad():
        err = (u(check) - exact(check[:, :1], check[:, 1:])).square().mean().sqrt()
    print(f"{tag:>10}  loss {loss:.3e}  rms error {err:.3e}")


adam = torch.optim.Adam(u.parameters(), lr=5e-3)
for it in range(300):
    pde, edge, init = losses()
    loss = pde + 10 * edge + 10 * init
    adam.zero_grad()
    loss.backward()
    adam.step()
    if it % 60 == 0:
        report(f"adam {it}", loss.item())

lbfgs = torch.optim.LBFGS(u.parameters(), lr=1.0, max_iter=20, history_size=30, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    pde, edge, init = losses()
    total = pde + 10 * edge + 10 * init
    total.backward()
    return total


for it in range(10):
    loss = lbfgs.step(closure)
    if it % 3 == 0:
        report(f"lbfgs {it}", loss.item())
