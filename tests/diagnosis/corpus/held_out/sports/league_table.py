"""Rank league teams from pairwise results by gradient ascent on a Bradley-Terry model, without an optimiser class."""

import numpy as np
import torch

rng = np.random.default_rng(9)
teams = 24
strength = np.sort(rng.normal(0, 1.6, teams))[::-1].copy()
home_bonus = 0.4


def play(n):
    home = rng.integers(0, teams, n)
    away = (home + rng.integers(1, teams, n)) % teams
    p = 1 / (1 + np.exp(-2.0 * (strength[home] - strength[away] + home_bonus)))
    return torch.from_numpy(home), torch.from_numpy(away), torch.from_numpy((rng.random(n) < p).astype(np.float64))


home, away, won = play(4000)
home_new, away_new, won_new = play(1000)

# plain tensors in double precision; everybody starts equal
theta = {
    "rating": torch.zeros(teams, dtype=torch.float64, requires_grad=True),
    "bonus": torch.zeros((), dtype=torch.float64, requires_grad=True),
}
velocity = {k: torch.zeros_like(v) for k, v in theta.items()}
average = {k: v.detach().clone() for k, v in theta.items()}


def neg_log_lik(params, h, a, w):
    z = params["rating"][h] - params["rating"][a] + params["bonus"]
    return (torch.nn.functional.softplus(z) - w * z).mean()


rate = {"rating": 1.0, "bonus": 0.05}
total = 500
for t in range(total):
    rows = torch.from_numpy(rng.integers(0, len(home), 200))
    loss = neg_log_lik(theta, home[rows], away[rows], won[rows]) + 1e-4 * theta["rating"].pow(2).sum()
    loss.backward()
    cool = 1.0 - t / total
    with torch.no_grad():
        for k, v in theta.items():
            velocity[k].mul_(0.9).add_(v.grad)
            v -= rate[k] * cool * velocity[k]
            v.grad = None
            average[k].lerp_(v, 0.05)
    if t % 100 == 0 or t == total - 1:
        with torch.no_grad():
            held = neg_log_lik(average, home_new, away_new, won_new)
        print(f"t={t:3d} loss {loss.item():.4f} held-out (averaged ratings) {held.item():.4f}")

ratings = average["rating"].numpy()
z = ratings[home_new] - ratings[away_new] + average["bonus"].item()
print("held-out matches called right:", round(float(((z > 0) == won_new.numpy().astype(bool)).mean()), 3))
print("rank agreement with the truth:", round(float(np.corrcoef(ratings, strength)[0, 1]), 3))
