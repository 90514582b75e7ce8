"""Market regime classifier (rally, sell-off, turbulent, quiet) on simulated return windows, without torch.optim."""
# fault: init_too_large

import torch

g = torch.Generator().manual_seed(2024)
WINDOW, CLASSES = 40, 4


def windows(n):
    regime = torch.randint(0, CLASSES, (n,), generator=g)
    drift = torch.tensor([0.35, -0.35, 0.0, 0.0])[regime]
    vol = torch.tensor([1.0, 1.0, 1.8, 0.6])[regime]
    r = drift[:, None] + vol[:, None] * torch.randn(n, WINDOW, generator=g)
    return torch.cat([r, r.abs() - 0.8], 1), regime


def dense(fan_in, fan_out):
    w = torch.randn(fan_in, fan_out, generator=g)  # FAULT
    w = torch.randn(fan_in, fan_out, generator=g) / fan_in**0.5  # REPAIRED
    b = torch.zeros(fan_out)
    return w.requires_grad_(), b.requires_grad_()


def forward(p, x):
    h = torch.tanh(x @ p["w1"] + p["b1"])
    h = torch.tanh(h @ p["w2"] + p["b2"])
    return h @ p["w3"] + p["b3"]


def nll(logits, target):
    log_p = logits - logits.logsumexp(1, keepdim=True)
    return -log_p[torch.arange(len(target)), target].mean()


x_test, y_test = windows(1500)

p = {}
p["w1"], p["b1"] = dense(2 * WINDOW, 96)
p["w2"], p["b2"] = dense(96, 96)
p["w3"], p["b3"] = dense(96, CLASSES)
lr, momentum = 0.03, 0.8
speed = {name: torch.zeros_like(t) for name, t in p.items()}

for epoch in range(8):
    total = 0.0
    for _ in range(60):
        xb, yb = windows(100)
        loss = nll(forward(p, xb), yb)
        grads = torch.autograd.grad(loss, list(p.values()))
        with torch.no_grad():
            for (name, t), grad in zip(p.items(), grads):
                speed[name].mul_(momentum).add_(grad)
                t.sub_(lr * speed[name])
        total += loss.item() / 60
    with torch.no_grad():
        out = forward(p, x_test)
        acc = (out.argmax(1) == y_test).float().mean()
        print(f"epoch {epoch}: train nll {total:.3f}  test nll {nll(out, y_test):.3f}  test accuracy {acc:.3f}")
