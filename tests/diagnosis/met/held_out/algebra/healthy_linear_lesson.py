"""Least squares by gradient descent on two numbers, with the data as they came."""

import torch

torch.manual_seed(52)
area = torch.rand(200, 1) * 3
price = 1.7 * area + 0.4 + 0.1 * torch.randn(200, 1)
w = torch.zeros(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(200):
    prediction = area * w + b
    loss = ((prediction - price) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        b -= 0.05 * b.grad
    w.grad = None
    b.grad = None
    if epoch % 40 == 0:
        print(epoch, loss.item(), w.item(), b.item())
