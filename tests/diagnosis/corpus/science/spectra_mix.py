"""Concentrations of three substances from absorption spectra of their mixtures, with a network written by hand."""
# fault: saturated_init

import torch

torch.manual_seed(14)
gen = torch.Generator().manual_seed(140)
BANDS, HIDDEN = 100, 40

wavelength = torch.linspace(0, 1, BANDS)
centres = torch.tensor([0.25, 0.45, 0.6])
widths = torch.tensor([0.08, 0.12, 0.1])
pure = torch.exp(-(((wavelength - centres[:, None]) / widths[:, None]) ** 2))


def measure(n):
    conc = torch.rand(n, 3, generator=gen)
    absorbed = conc @ pure + 0.02 * torch.randn(n, BANDS, generator=gen)
    detector = 1 - torch.exp(-1.5 * absorbed)  # the instrument saturates
    return detector, conc


train_x, train_c = measure(1200)
test_x, test_c = measure(300)
mean, std = train_x.mean(0), train_x.std(0)
train_x, test_x = (train_x - mean) / std, (test_x - mean) / std

W1 = torch.randn(BANDS, HIDDEN)  # FAULT
W1 = torch.randn(BANDS, HIDDEN) / BANDS**0.5  # REPAIRED
W2 = torch.randn(HIDDEN, HIDDEN)  # FAULT
W2 = torch.randn(HIDDEN, HIDDEN) / HIDDEN**0.5  # REPAIRED
W3 = torch.randn(HIDDEN, 3) / HIDDEN**0.5
b1, b2, b3 = torch.zeros(HIDDEN), torch.zeros(HIDDEN), torch.zeros(3)
params = [W1, b1, W2, b2, W3, b3]
for p in params:
    p.requires_grad_(True)


def predict(x):
    h = torch.tanh(x @ W1 + b1)
    h = torch.tanh(h @ W2 + b2)
    return h @ W3 + b3


optimizer = torch.optim.SGD(params, lr=0.05, momentum=0.9)
loss_fn = torch.nn.MSELoss()

for step in range(601):
    rows = torch.randint(0, 1200, (64,), generator=gen)
    loss = loss_fn(predict(train_x[rows]), train_c[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        with torch.no_grad():
            test_error = (predict(test_x) - test_c).pow(2).mean().sqrt().item()
        print(f"step {step}: loss {loss.item():.5f}, test rmse {test_error:.4f}")
