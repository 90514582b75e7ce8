"""No optimiser and no module: tensors in a list, changed under no_grad."""

import torch

torch.manual_seed(6)
X = torch.rand(200, 3, dtype=torch.float64)
Y = torch.sin(3 * X[:, :1]) + X[:, 1:2] * X[:, 2:]
params = [torch.randn(3, 16, dtype=torch.float64) * 0.5, torch.zeros(16, dtype=torch.float64)]
params += [torch.randn(16, 1, dtype=torch.float64) * 0.2, torch.zeros(1, dtype=torch.float64)]
for p in params:
    p.requires_grad_()

for step in range(80):
    rows = torch.randperm(200)[:50]
    hidden = torch.relu(X[rows] @ params[0] + params[1])
    loss = (hidden @ params[2] + params[3] - Y[rows]).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= 0.1 * p.grad
            p.grad.zero_()
    print(step, loss.item().hex())

for step in range(20):
    loss = (torch.relu(X @ params[0] + params[1]) @ params[2] + params[3] - Y).pow(2).mean()
    grads = torch.autograd.grad(loss, params)
    params = [(p - 0.1 * g).detach().requires_grad_() for p, g in zip(params, grads, strict=True)]
    print(step, loss.item().hex())
