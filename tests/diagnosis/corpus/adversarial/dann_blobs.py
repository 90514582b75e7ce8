"""Domain adaptation with a gradient reversal layer: labelled source clusters, unlabelled shifted and turned target."""
# fault: step_before_backward

import math

import torch
import torch.nn.functional as F
from torch import nn


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.weight * grad, None


def domain(n, turn=0.0, shift=0.0):
    label = torch.randint(0, 4, (n,))
    angle = label * math.pi / 2 + turn
    centre = torch.stack([angle.cos(), angle.sin()], dim=1)
    points = centre + 0.15 * torch.randn(n, 2) + shift
    extra = 0.3 * torch.randn(n, 4)
    return torch.cat([points, extra], dim=1), label


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.classify = nn.Linear(16, 4)
        self.discriminate = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, weight):
        h = self.features(x)
        return self.classify(h), self.discriminate(Reverse.apply(h, weight)).squeeze(-1)


class Adapter:
    def __init__(self, model, steps=400, batch=64):
        self.model = model
        self.steps, self.batch = steps, batch
        self.opt = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.source = domain(1500)
        self.target = domain(1500, turn=0.35, shift=0.2)
        self.test = domain(600, turn=0.35, shift=0.2)

    def sample(self, data):
        idx = torch.randint(0, len(data[0]), (self.batch,))
        return data[0][idx], data[1][idx]

    def train_step(self, weight):
        xs, ys = self.sample(self.source)
        xt, _ = self.sample(self.target)
        logits, d_source = self.model(xs, weight)
        _, d_target = self.model(xt, weight)
        class_loss = F.cross_entropy(logits, ys)
        d_all = torch.cat([d_source, d_target])
        d_true = torch.cat([torch.ones_like(d_source), torch.zeros_like(d_target)])
        domain_loss = F.binary_cross_entropy_with_logits(d_all, d_true)
        self.opt.zero_grad()
        self.opt.step()  # FAULT
        (class_loss + domain_loss).backward()
        self.opt.step()  # REPAIRED
        return class_loss.item(), domain_loss.item()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        logits, _ = self.model(self.test[0], 0.0)
        self.model.train()
        return (logits.argmax(1) == self.test[1]).float().mean().item()

    def fit(self):
        for step in range(self.steps):
            weight = 2 / (1 + math.exp(-5 * step / self.steps)) - 1
            class_loss, domain_loss = self.train_step(weight)
            if (step + 1) % 80 == 0:
                acc = self.evaluate()
                print(f"step {step + 1} class {class_loss:.3f} domain {domain_loss:.3f} target accuracy {acc:.3f}")


if __name__ == "__main__":
    torch.manual_seed(12)
    Adapter(DANN()).fit()
