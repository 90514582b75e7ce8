"""A module called through functional_call, gradients by torch.func, updates as new dictionaries."""
# fault: lr_too_high

import torch
import torch.nn as nn
from torch.func import functional_call, grad_and_value

torch.manual_seed(1)
x = torch.randn(600, 5)
y = (x[:, :1] * x[:, 1:2]).tanh()
net = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
params = {k: v.detach() for k, v in net.named_parameters()}


def loss_of(p, a, b):
    return nn.functional.mse_loss(functional_call(net, p, (a,)), b)


step_of = grad_and_value(loss_of)
rate = 8.0  # FAULT
rate = 0.1  # REPAIRED
for step in range(200):
    i = torch.randint(600, (40,))
    grads, loss = step_of(params, x[i], y[i])
    params = {k: p - rate * grads[k] for k, p in params.items()}
    if step % 40 == 0:
        print(step, loss.item())
