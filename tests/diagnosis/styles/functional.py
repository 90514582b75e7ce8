"""Gradients by torch.func, and then an ordinary loop."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

torch.manual_seed(23)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
weights = {name: p.detach().clone() for name, p in net.named_parameters()}
x = torch.randn(32, 4)
y = (x[:, 0] * x[:, 1] > 0).long()


def objective(weights, xi, yi):
    return nn.functional.cross_entropy(functional_call(net, weights, xi), yi)


for step in range(50):
    grads, loss = grad_and_value(objective)(weights, x, y)
    weights = {name: w - 0.3 * grads[name] for name, w in weights.items()}
    print(step, loss.item().hex())

each = vmap(torch.func.grad(objective), in_dims=(None, 0, 0))(weights, x[:, None], y[:, None])
print({name: g.norm().item().hex() for name, g in each.items()})

net.load_state_dict(weights)
opt = torch.optim.SGD(net.parameters(), lr=0.2)
for step in range(30):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("ordinary", step, loss.item().hex())
