"""Which of three nested shells does a particle belong to? Deep MLP on six coordinates."""
# fault: missing_activation

import time

import torch
from sklearn.datasets import make_gaussian_quantiles
from torch import nn

torch.manual_seed(0)

points, shell = make_gaussian_quantiles(n_samples=16000, n_features=6, n_classes=3, random_state=0)
perm = torch.randperm(16000)
points = torch.as_tensor(points, dtype=torch.float)[perm]
shell = torch.as_tensor(shell)[perm]
trn, tst = slice(0, 14000), slice(14000, None)


class DeepNet(nn.Module):
    def __init__(self, dim=6, width=128, depth=4, out=3):
        super().__init__()
        self.inp = nn.Linear(dim, width)
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(depth - 1)])
        self.out = nn.Linear(width, out)

    def forward(self, z):
        z = self.inp(z)  # FAULT
        z = nn.functional.leaky_relu(self.inp(z), 0.1)  # REPAIRED
        for layer in self.blocks:
            z = layer(z)  # FAULT
            z = nn.functional.leaky_relu(layer(z), 0.1)  # REPAIRED
        return self.out(z)


net = DeepNet()
print(sum(p.numel() for p in net.parameters()), "parameters")
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
ce = nn.CrossEntropyLoss()

t0 = time.time()
for step in range(600):
    pick = torch.randint(0, 14000, (192,))
    logits = net(points[trn][pick])
    loss = ce(logits, shell[trn][pick])
    opt.zero_grad()
    loss.backward()
    opt.step()

    if step % 100 == 99:
        net.eval()
        with torch.no_grad():
            scores = net(points[tst])
            acc = (scores.argmax(1) == shell[tst]).float().mean()
            tst_loss = ce(scores, shell[tst])
        net.train()
        print(f"step {step + 1:4d}  loss {loss.item():.4f}  test {tst_loss:.4f} / {acc:.3f}  ({time.time() - t0:.1f}s)")
