"""Deep sets in functional style: learns mean, spread and correlation of small 2-D samples from the points."""

# fault: constant_init
import torch
from torch.func import grad_and_value

torch.manual_seed(14)


def make(n, size=32):
    centre = torch.rand(n, 1, 2) * 2 - 1
    scale = torch.rand(n, 1, 2) + 0.3
    rho = torch.rand(n) * 1.8 - 0.9
    e = torch.randn(n, size, 2)
    second = rho[:, None] * e[..., 0] + (1 - rho[:, None] ** 2).sqrt() * e[..., 1]
    x = centre + scale * torch.stack([e[..., 0], second], -1)
    d = x - x.mean(1, keepdim=True)
    sd = d.pow(2).mean(1).sqrt()
    r = d.prod(-1).mean(1) / sd.prod(-1)
    return x, torch.cat([x.mean(1), sd, r[:, None]], 1)


def dense(n_in, n_out):
    w = torch.full((n_in, n_out), 0.02)  # FAULT
    w = torch.randn(n_in, n_out) * (2 / n_in) ** 0.5  # REPAIRED
    return {"w": w, "b": torch.zeros(n_out)}


params = {"phi1": dense(2, 64), "phi2": dense(64, 64), "rho1": dense(64, 64), "rho2": dense(64, 5)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def forward(p, x):
    h = torch.relu(apply(p["phi2"], torch.relu(apply(p["phi1"], x))))
    return apply(p["rho2"], torch.relu(apply(p["rho1"], h.mean(1))))


def loss_fn(p, x, t):
    return ((forward(p, x) - t) ** 2).mean()


x_train, t_train = make(3000)
x_val, t_val = make(500)
mu, sigma = t_train.mean(0), t_train.std(0)
t_train, t_val = (t_train - mu) / sigma, (t_val - mu) / sigma

step_fn = grad_and_value(loss_fn)
velocity = {k: {n: torch.zeros_like(v) for n, v in layer.items()} for k, layer in params.items()}
lr, beta = 0.03, 0.9

for step in range(600):
    idx = torch.randint(0, len(x_train), (64,))
    grads, loss = step_fn(params, x_train[idx], t_train[idx])
    for k in params:
        for n in params[k]:
            velocity[k][n] = beta * velocity[k][n] + grads[k][n]
            params[k][n] = params[k][n] - lr * velocity[k][n]
    if step % 100 == 0:
        print(f"step {step}: train {loss.item():.4f}  val {loss_fn(params, x_val, t_val).item():.4f}")

err = (forward(params, x_val) - t_val).pow(2).mean(0)
print("R2 per statistic:", [round(1 - e.item(), 3) for e in err])
