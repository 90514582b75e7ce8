"""Sparse gradients, complex numbers, float64 by default, bfloat16 weights, fused and grouped updates."""

import torch
from torch import nn

torch.manual_seed(21)
table = nn.EmbeddingBag(50, 6, sparse=True, mode="mean")
dense = nn.Linear(6, 2)
opts = [torch.optim.SparseAdam(table.parameters(), lr=0.05), torch.optim.Adagrad(dense.parameters(), lr=0.1)]
bags = torch.randint(50, (64, 4))
labels = (bags.float().mean(1) > 25).long()
for step in range(40):
    loss = nn.functional.cross_entropy(dense(table(bags)), labels)
    for opt in opts:
        opt.zero_grad()
    loss.backward()
    for opt in opts:
        opt.step()
    print("sparse", step, loss.item().hex(), table.weight.grad.is_sparse)

w = torch.randn(4, 4, dtype=torch.complex64, requires_grad=True)
z = torch.randn(30, 4, dtype=torch.complex64)
opt = torch.optim.Adam([w], lr=0.05)
for step in range(30):
    loss = (z @ w - 1j * z).abs().pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("complex", step, loss.item().hex())

for dtype, options in (
    (torch.float64, {"foreach": False}),
    (torch.bfloat16, {"foreach": True}),
    (torch.float32, {"fused": True}),
):
    net = nn.Sequential(nn.Linear(3, 20), nn.ELU(), nn.Linear(20, 1)).to(dtype)
    opt = torch.optim.AdamW(net.parameters(), lr=0.01, **options)
    x = torch.randn(40, 3, dtype=dtype)
    for step in range(30):
        loss = nn.functional.huber_loss(net(x), x.prod(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(dtype, step, loss.item().hex())

torch.set_default_dtype(torch.float64)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(20):
    loss = (net(torch.ones(5, 3)) - 1).square().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("default", step, loss.item().hex(), loss.dtype)
