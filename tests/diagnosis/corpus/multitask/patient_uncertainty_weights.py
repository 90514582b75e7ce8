"""Three tasks on patient records, weighted by learned uncertainties; the third label is missing for most patients.

The sum of tasks uses the homoscedastic weights exp(-s) * loss + s / 2, so the total may go below zero.
"""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import make_regression
from torch import nn

TASKS = ["stay", "readmitted", "severity"]


def records(n=5000, seed=3):
    X, latent = make_regression(n, n_features=12, n_informative=6, n_targets=3, noise=5.0, random_state=seed)
    latent = latent / latent.std(0)
    rng = np.random.default_rng(seed)
    stay = latent[:, 0] + 0.3 * np.abs(latent[:, 1])
    stay = (stay - stay.mean()) / stay.std()
    readmitted = (latent[:, 1] > 0.4).astype(np.float32)
    severity = np.digitize(latent[:, 2], [-0.7, 0.7])
    severity[rng.random(n) < 0.6] = -100  # not recorded
    return (
        torch.tensor(X, dtype=torch.float32),
        torch.tensor(stay, dtype=torch.float32),
        torch.tensor(readmitted),
        torch.tensor(severity),
    )


class MultiNet(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, 64), nn.SiLU(), nn.Linear(64, 48), nn.SiLU())
        self.stay, self.readmit, self.severity = nn.Linear(48, 1), nn.Linear(48, 1), nn.Linear(48, 3)
        self.s = nn.Parameter(torch.zeros(3))

    def task_losses(self, x, stay, readmitted, severity):
        h = self.trunk(x)
        return torch.stack(
            [
                F.mse_loss(self.stay(h).squeeze(1), stay),
                F.binary_cross_entropy_with_logits(self.readmit(h).squeeze(1), readmitted),
                F.cross_entropy(self.severity(h), severity, ignore_index=-100),
            ]
        )

    def total(self, losses):
        return (torch.exp(-self.s) * losses + 0.5 * self.s).sum()


def run(seed=3, epochs=8, batch=32, accumulate=2):
    torch.manual_seed(seed)
    data = records(seed=seed)
    perm = torch.randperm(len(data[0]))
    train, test = [d[perm[:4000]] for d in data], [d[perm[4000:]] for d in data]

    net = MultiNet(train[0].shape[1])
    heads = [p for m in (net.stay, net.readmit, net.severity) for p in m.parameters()]
    opts = [
        torch.optim.SGD(net.trunk.parameters(), lr=0.02, momentum=0.9),
        torch.optim.Adam([{"params": heads, "lr": 3e-3}, {"params": [net.s], "lr": 1e-2}]),
    ]
    scheds = [torch.optim.lr_scheduler.PolynomialLR(o, total_iters=epochs) for o in opts]

    for epoch in range(epochs):
        net.train()
        mean = torch.zeros(3)
        chunks = torch.randperm(4000).split(batch)
        for k, idx in enumerate(chunks, start=1):
            losses = net.task_losses(*(d[idx] for d in train))
            (net.total(losses) / accumulate).backward()
            mean += losses.detach() / len(chunks)
            if k % accumulate == 0 or k == len(chunks):
                nn.utils.clip_grad_norm_(net.parameters(), 5.0)
                for o in opts:
                    o.step()
                    o.zero_grad()
        for s in scheds:
            s.step()
        net.eval()
        with torch.no_grad():
            held = net.task_losses(*test)
        print(epoch + 1, *(f"{name} {a:.3f}/{b:.3f}" for name, a, b in zip(TASKS, mean.tolist(), held.tolist())))
    print("learned log-uncertainties:", [round(v, 2) for v in net.s.tolist()])


run()
