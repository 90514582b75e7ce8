"""Logistic regression by hand: gradient of the mean loss, one step after the other."""
# fault: uphill_steps

import torch

torch.manual_seed(51)
x = torch.randn(500, 4)
y = (x @ torch.tensor([1.0, -2.0, 0.5, 0.0]) + 0.3 * torch.randn(500) > 0).float()
w, b = torch.zeros(4, requires_grad=True), torch.zeros(1, requires_grad=True)
for step in range(200):
    p = torch.sigmoid(x @ w + b)
    loss = -(y * torch.log(p + 1e-7) + (1 - y) * torch.log(1 - p + 1e-7)).mean()
    gw, gb = torch.autograd.grad(loss, (w, b))
    with torch.no_grad():
        w += 0.1 * gw  # FAULT
        b += 0.1 * gb  # FAULT
        w -= 0.1 * gw  # REPAIRED
        b -= 0.1 * gb  # REPAIRED
    if step % 40 == 0:
        print(step, loss.item())
