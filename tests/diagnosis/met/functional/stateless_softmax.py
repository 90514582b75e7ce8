"""Classes of points with torch.func; the model ends in probabilities."""
# fault: softmax_before_ce

import torch
import torch.nn as nn
from torch.func import functional_call, grad

torch.manual_seed(2)
x = torch.randn(900, 2)
y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 32), nn.Linear(32, 4)

    def forward(self, t):
        logits = self.b(torch.relu(self.a(t)))
        return logits.softmax(-1)  # FAULT
        return logits  # REPAIRED


net = Net()
params = dict(net.named_parameters())
params = {k: v.detach().clone() for k, v in params.items()}


def objective(p, a, b):
    return nn.functional.cross_entropy(functional_call(net, p, (a,)), b)


for step in range(300):
    i = torch.randint(900, (50,))
    gradients = grad(objective)(params, x[i], y[i])
    params = {k: p - 0.3 * gradients[k] for k, p in params.items()}
    if step % 60 == 0:
        print(step, objective(params, x, y).item())
