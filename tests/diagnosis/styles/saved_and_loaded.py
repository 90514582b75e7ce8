"""Saves, loads, copies and averages models."""

import copy
import io

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.utils.parametrizations.spectral_norm(nn.Linear(5, 16)), nn.Linear(16, 2)
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x):
        return self.b(torch.relu(self.norm(self.a(x))))


def through_bytes(thing, weights_only=True):
    file = io.BytesIO()
    torch.save(thing, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=weights_only), len(file.getvalue())


torch.manual_seed(18)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
ema, swa = copy.deepcopy(net), AveragedModel(net)
x, y = torch.randn(80, 5), torch.randint(2, (80,))
for step in range(60):
    loss = nn.functional.cross_entropy(net(x[step % 4 :: 4]), y[step % 4 :: 4])
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(ema.parameters(), net.parameters(), strict=True):
            slow.lerp_(fast, 0.1)
    swa.update_parameters(net)
    if step == 29:
        state, size = through_bytes({"net": net.state_dict(), "opt": opt.state_dict()})
        print(size, sorted(state["opt"]["param_groups"][0]))
        net, opt = Net(), None
        net.load_state_dict(state["net"])
        opt = torch.optim.AdamW(net.parameters(), lr=0.01)
        opt.load_state_dict(state["opt"])
    print(step, loss.item().hex())
for model in (net, ema, swa):
    model.eval()
    print(model(x).sum().item().hex(), copy.deepcopy(model)(x).sum().item().hex())
plain = nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 2))
plain(x).sum().backward()
whole, size = through_bytes(plain, weights_only=False)
print(size, whole(x).sum().item() == plain(x).sum().item(), sorted(vars(whole)) == sorted(vars(plain)))
