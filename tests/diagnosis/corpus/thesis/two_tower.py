"""Two-tower recommender for the user study: users and items meet in a shared space, rating regression."""
# fault: optimizer_missing_params

import argparse
import logging
from dataclasses import dataclass, field

import torch
import torch.nn as nn

logger = logging.getLogger(__name__)


@dataclass
class TrainConfig:
    n_users: int = 200
    n_items: int = 240
    user_dim: int = 8
    item_dim: int = 3
    shared: int = 8
    steps: int = 700
    batch_size: int = 96
    lr: float = 5e-3
    betas: tuple = field(default_factory=lambda: (0.9, 0.98))


class Tower(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU(), nn.Linear(48, d_out))

    def forward(self, x):
        return self.body(x)


class Recommender:
    def __init__(self, cfg):
        self.cfg = cfg
        self.user_tower = Tower(cfg.user_dim, cfg.shared)
        self.item_tower = Tower(cfg.item_dim, cfg.shared)
        self.opt = torch.optim.Adam(self.user_tower.parameters(), lr=cfg.lr, betas=cfg.betas)  # FAULT
        params = list(self.user_tower.parameters()) + list(self.item_tower.parameters())  # REPAIRED
        self.opt = torch.optim.Adam(params, lr=cfg.lr, betas=cfg.betas)  # REPAIRED

    def score(self, u, v):
        return (self.user_tower(u) * self.item_tower(v)).sum(-1)

    def update(self, u, v, r):
        loss = (self.score(u, v) - r).square().mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def synthesise(cfg, seed):
    g = torch.Generator().manual_seed(seed)
    users = torch.randn(cfg.n_users, cfg.user_dim, generator=g)
    items = torch.randn(cfg.n_items, cfg.item_dim, generator=g)
    taste = nn.functional.normalize(torch.randn(cfg.user_dim, 4, generator=g), dim=0)
    kind = nn.functional.normalize(torch.randn(cfg.item_dim, 4, generator=g), dim=0)
    rating = torch.tanh(users @ taste) @ torch.sin(1.7 * items @ kind).T
    rating = (rating - rating.mean()) / rating.std() + 0.1 * torch.randn(rating.shape, generator=g)
    pairs = torch.cartesian_prod(torch.arange(cfg.n_users), torch.arange(cfg.n_items))
    pairs = pairs[torch.randperm(len(pairs), generator=g)]
    return users, items, rating, pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--log-every", type=int, default=50)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(args.seed)

    cfg = TrainConfig()
    users, items, rating, pairs = synthesise(cfg, args.seed)
    train, held_out = pairs[:-8000], pairs[-8000:]
    rec = Recommender(cfg)
    for step in range(1, cfg.steps + 1):
        u, i = train[torch.randint(len(train), (cfg.batch_size,))].T
        loss = rec.update(users[u], items[i], rating[u, i])
        if step % args.log_every == 0:
            logger.info("step %d loss %.4f", step, loss)

    with torch.no_grad():
        u, i = held_out.T
        mse = (rec.score(users[u], items[i]) - rating[u, i]).square().mean()
    logger.info("held-out mse %.4f (variance %.4f)", mse, rating.var())


if __name__ == "__main__":
    main()
