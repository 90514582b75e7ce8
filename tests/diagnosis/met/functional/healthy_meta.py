"""A net trained with torch.func, per-example gradients clipped as in private learning."""

import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(3)
x = torch.randn(500, 4)
y = (x[:, :2].sum(1) > 0).long()
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
params = {k: v.detach().clone() for k, v in net.named_parameters()}


def one_loss(p, a, b):
    return nn.functional.cross_entropy(functional_call(net, p, (a[None],)), b[None])


for step in range(150):
    i = torch.randint(500, (32,))
    each = vmap(grad(one_loss), in_dims=(None, 0, 0))(params, x[i], y[i])
    norm = sum(g.flatten(1).pow(2).sum(1) for g in each.values()).sqrt()
    scale = (1.0 / norm).clamp(max=1.0)
    params = {k: p - 0.5 * torch.einsum("n,n...->...", scale, each[k]) / 32 for k, p in params.items()}
    if step % 30 == 0:
        with torch.no_grad():
            print(step, nn.functional.cross_entropy(functional_call(net, params, (x,)), y).item())
