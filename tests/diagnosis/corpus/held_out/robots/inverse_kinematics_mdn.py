"""Mixture density network for the inverse kinematics of a two-link arm (elbow up and elbow down are both answers)."""

import argparse
import logging
import math

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("ik")


def forward_kinematics(q):
    x = 1.0 * torch.cos(q[..., 0]) + 0.8 * torch.cos(q[..., 0] + q[..., 1])
    y = 1.0 * torch.sin(q[..., 0]) + 0.8 * torch.sin(q[..., 0] + q[..., 1])
    return torch.stack([x, y], -1)


def sample(n):
    q = torch.stack([torch.empty(n).uniform_(-1.0, 1.0), torch.empty(n).uniform_(-2.2, 2.2)], 1)
    return forward_kinematics(q), q + 0.05 * torch.randn(n, 2)


class MDN(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.body = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.heads = nn.Linear(64, k * 5)

    def forward(self, x):
        out = self.heads(self.body(x))
        logit, mu, raw = out.split([self.k, 2 * self.k, 2 * self.k], dim=1)
        log_sigma = -3.5 + nn.functional.softplus(raw + 3.0)
        return torch.log_softmax(logit, 1), mu.view(-1, self.k, 2), log_sigma.view(-1, self.k, 2)


def nll(net, x, q):
    log_pi, mu, log_sigma = net(x)
    z = (q[:, None, :] - mu) / log_sigma.exp()
    log_prob = (-0.5 * z**2 - log_sigma - 0.5 * math.log(2 * math.pi)).sum(-1)
    return -torch.logsumexp(log_pi + log_prob, dim=1).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=350)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--components", type=int, default=4)
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args([])

    torch.manual_seed(args.seed)
    val_x, val_q = sample(1000)
    net = MDN(args.components)
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)

    for step in range(args.steps):
        opt.zero_grad()
        shown = 0.0
        for _ in range(args.accumulate):
            loss = nll(net, *sample(64)) / args.accumulate
            loss.backward()
            shown += loss.item()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        if step % 50 == 0:
            with torch.no_grad():
                log.info("step %d train nll %.3f val nll %.3f", step, shown, nll(net, val_x, val_q).item())

    with torch.no_grad():
        log_pi, mu, _ = net(val_x)
        best = mu[torch.arange(len(mu)), log_pi.argmax(1)]
        miss = (forward_kinematics(best) - val_x).norm(dim=1)
        log.info("final val nll %.3f, median reach error %.3f", nll(net, val_x, val_q).item(), miss.median().item())


if __name__ == "__main__":
    main()
