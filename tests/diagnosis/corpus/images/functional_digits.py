"""Digits with a fully hand-written network: parameters in a dict, no nn.Module, minibatches, Adam."""

# fault: init_too_large
import numpy as np
import torch
from sklearn import datasets, model_selection

torch.manual_seed(0)

x, y = datasets.load_digits(return_X_y=True)
xtr, xte, ytr, yte = model_selection.train_test_split(x.astype(np.float32), y, test_size=0.3, random_state=0)
centre, spread = xtr.mean(axis=0), xtr.std(axis=0) + 1.0
xtr, xte = (xtr - centre) / spread, (xte - centre) / spread
xtr, xte, ytr, yte = map(torch.from_numpy, (xtr, xte, ytr, yte))

sizes = [64, 128, 128, 10]
params = {}
for i, (fan_in, fan_out) in enumerate(zip(sizes[:-1], sizes[1:])):
    params[f"W{i}"] = torch.randn(fan_in, fan_out)  # FAULT
    params[f"W{i}"] = torch.randn(fan_in, fan_out) / fan_in**0.5  # REPAIRED
    params[f"b{i}"] = torch.zeros(fan_out)
for p in params.values():
    p.requires_grad_()


def predict(p, a):
    for i in range(len(sizes) - 2):
        a = (a @ p[f"W{i}"] + p[f"b{i}"]).clamp(min=0)
    return a @ p[f"W{i + 1}"] + p[f"b{i + 1}"]


def nll(scores, labels):
    return (scores.logsumexp(1) - scores[torch.arange(len(labels)), labels]).mean()


opt = torch.optim.Adam(list(params.values()), lr=1e-3)
for it in range(401):
    j = torch.randint(len(xtr), (128,))
    loss = nll(predict(params, xtr[j]), ytr[j])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 40 == 0:
        with torch.no_grad():
            s = predict(params, xte)
            print(
                f"{it:4d}  loss {loss:.3f} | test nll {nll(s, yte):.3f} acc {(s.argmax(1) == yte).float().mean():.3f}"
            )
