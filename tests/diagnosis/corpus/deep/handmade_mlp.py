"""A seven-layer ReLU network without nn.Module: a list of tensors, trained by hand on a checkerboard."""
# fault: init_too_small

import torch
import torch.nn.functional as F

g = torch.Generator().manual_seed(99)


def checkerboard(n):
    pts = 4 * torch.rand(n, 2, generator=g)
    labels = (pts[:, 0].floor() + pts[:, 1].floor()).long() % 2
    return (pts - 2) / 1.155, labels


sizes = [2, 64, 64, 64, 64, 64, 64, 2]
params = []
for n_in, n_out in zip(sizes[:-1], sizes[1:]):
    W = torch.randn(n_in, n_out, generator=g) * 1e-4  # FAULT
    W = torch.randn(n_in, n_out, generator=g) * (2 / n_in) ** 0.5  # REPAIRED
    params.append((W.requires_grad_(), torch.zeros(n_out, requires_grad=True)))


def net(x):
    for W, b in params[:-1]:
        x = F.relu(x @ W + b)
    W, b = params[-1]
    return x @ W + b


flat = [p for pair in params for p in pair]
velocity = [torch.zeros_like(p) for p in flat]
lr, mu = 0.03, 0.9
X, Y = checkerboard(3000)
X_val, Y_val = checkerboard(1000)

history = []
for step in range(900):
    pick = torch.randint(0, len(X), (128,), generator=g)
    loss = F.cross_entropy(net(X[pick]), Y[pick])
    grads = torch.autograd.grad(loss, flat)
    with torch.no_grad():
        for p, v, dp in zip(flat, velocity, grads):
            v.mul_(mu).add_(dp)
            p.sub_(lr * v)
    history.append(loss.item())
    if (step + 1) % 150 == 0:
        with torch.no_grad():
            acc = (net(X_val).argmax(-1) == Y_val).double().mean()
        print(f"step {step + 1}: loss {sum(history[-50:]) / 50:.4f}  val acc {acc:.3f}")
