"""Three layers of plain tensors and updates by hand."""
# fault: init_too_large

import torch

torch.manual_seed(1)
x = torch.randn(1000, 20)
y = x[:, :4].sum(1, keepdim=True).tanh()


def layer(n, m):
    w = torch.randn(n, m)  # FAULT
    w = torch.randn(n, m) * (2 / n) ** 0.5  # REPAIRED
    return w.requires_grad_(), torch.zeros(m, requires_grad=True)


layers = [layer(20, 100), layer(100, 100), layer(100, 1)]
lr = 1e-6  # FAULT
lr = 1e-2  # REPAIRED
for step in range(300):
    i = torch.randint(1000, (50,))
    h = x[i]
    for n, (w, b) in enumerate(layers):
        h = h @ w + b
        h = torch.relu(h) if n < 2 else h
    loss = ((h - y[i]) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for w, b in layers:
            for p in (w, b):
                p -= lr * p.grad
                p.grad = None
    if step % 60 == 0:
        print(step, loss.item())
