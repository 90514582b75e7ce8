"""Updates in the backward pass, accumulated gradients, a retained graph, several losses, anomaly detection."""

import torch
from torch import nn

torch.manual_seed(24)
net = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 4))
inside = {p: torch.optim.SGD([p], lr=0.05) for p in net.parameters()}


def update(p):
    inside[p].step()
    inside[p].zero_grad()


handles = [p.register_post_accumulate_grad_hook(update) for p in net.parameters()]
x = torch.randn(60, 5)
y = x[:, :4].argmax(1)
for step in range(40):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    print("inside", step, loss.item().hex())
for handle in handles:
    handle.remove()

opt = torch.optim.Adam(net.parameters(), lr=1e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
for step in range(40):
    for part in range(4):
        loss = nn.functional.cross_entropy(net(x[part::4]), y[part::4]) / 4
        loss.backward()
    opt.step()
    net.zero_grad()
    plateau.step(loss.item())
    print("accumulated", step, loss.item().hex(), opt.param_groups[0]["lr"])

for step in range(30):
    out = net(x)
    first, second = nn.functional.cross_entropy(out, y), out.pow(2).mean() * 1e-3
    opt.zero_grad()
    first.backward(retain_graph=True)
    torch.autograd.backward([second, out.abs().mean()], inputs=list(net.parameters()))
    opt.step()
    print("several", step, first.item().hex(), second.item().hex())

out = net(x)
out.backward(torch.ones_like(out) / 100)
print([p.grad.sum().item().hex() for p in net.parameters()])

torch.use_deterministic_algorithms(True)
with torch.autograd.detect_anomaly(check_nan=True), torch.autograd.graph.save_on_cpu():
    for step in range(10):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print("anomaly", step, loss.item().hex())
torch.set_grad_enabled(False)
print(net(x).sum().item().hex(), torch.is_grad_enabled())
