"""A network by hand on columns of unit size."""
# fault: lr_too_high

import torch

torch.manual_seed(2)
x = torch.randn(600, 8)
y = (x[:, :2].sum(1, keepdim=True)).sin()
w1 = (torch.randn(8, 40) * 0.4).requires_grad_()
w2 = (torch.randn(40, 1) * 0.2).requires_grad_()
rate = 3.0  # FAULT
rate = 0.05  # REPAIRED
for step in range(150):
    loss = ((torch.tanh(x @ w1) @ w2 - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            w.sub_(rate * w.grad)
            w.grad.zero_()
    if step % 30 == 0:
        print(step, loss.item())
