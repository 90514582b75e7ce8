"""Linear regression on standardised columns, updates written out."""
# fault: uphill_steps

import torch

torch.manual_seed(3)
x = torch.randn(400, 3)
y = x @ torch.tensor([[2.0], [-1.0], [0.5]]) + 0.1 * torch.randn(400, 1)
w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for step in range(60):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p += 0.02 * p.grad  # FAULT
            p -= 0.02 * p.grad  # REPAIRED
            p.grad.zero_()
    if step % 10 == 0:
        print(step, loss.item())
