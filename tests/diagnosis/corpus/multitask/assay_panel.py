"""Panel of six toxicity assays predicted together from molecular descriptors (multi-label, one network)."""
# fault: overfitting

import torch
from torch import nn

torch.manual_seed(99)
N_DESC, N_ASSAY, HIDDEN = 40, 6, 96
N_TRAIN = 160  # FAULT
N_TRAIN = 20_000  # REPAIRED
N_VAL = 800


def compounds(n):
    """Descriptors are standard normal; a few hidden factors drive all assays; assays err now and then."""
    g = torch.Generator().manual_seed(4)
    factors = torch.randn(N_DESC, 5, generator=g) / N_DESC**0.5
    readout = torch.randn(5, N_ASSAY, generator=g)
    x = torch.randn(n, N_DESC)
    active = (torch.sinh(1.3 * x @ factors) @ readout) > 0
    wrong = torch.rand(n, N_ASSAY) < 0.04
    return x, (active ^ wrong).float()


x_all, y_all = compounds(N_TRAIN + N_VAL)
x_train, y_train = x_all[:N_TRAIN], y_all[:N_TRAIN]
x_val, y_val = x_all[N_TRAIN:], y_all[N_TRAIN:]


class Panel(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for width in (N_DESC, HIDDEN, HIDDEN, HIDDEN):
            layers += [nn.Linear(width, HIDDEN), nn.ReLU()]
        self.shared = nn.Sequential(*layers)
        self.assays = nn.ModuleList([nn.Linear(HIDDEN, 1) for _ in range(N_ASSAY)])

    def forward(self, x):
        h = self.shared(x)
        return torch.cat([assay(h) for assay in self.assays], dim=1)


def bce(logits, y):
    # written out: log(1 + e^z) - y z, mean over compounds, sum over assays
    return (nn.functional.softplus(logits) - y * logits).mean(0).sum()


model = Panel()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)


def batches(n_steps, size=48):
    for _ in range(n_steps):
        pick = torch.randint(N_TRAIN, (size,))
        yield x_train[pick], y_train[pick]


history = []
for step, (x, y) in enumerate(batches(900), start=1):
    model.train()
    loss = bce(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        model.eval()
        with torch.no_grad():
            logits = model(x_val)
            val = bce(logits, y_val).item()
            acc = ((logits > 0) == (y_val > 0.5)).float().mean().item()
        history.append(val)
        print(f"step {step:4d}  train {loss.item():.4f}  val {val:.4f}  val acc {acc:.3f}")
print(f"best val {min(history):.4f}, last val {history[-1]:.4f}")
