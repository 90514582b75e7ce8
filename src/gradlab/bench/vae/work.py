"""Black and white pictures, and one training of a variational autoencoder on them. Importing this imports torch."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

from gradlab.bench.device import device_name, versions
from gradlab.bench.laps import Clock, Laps, by_hand
from gradlab.bench.work import prototypes
from gradlab.data import Examples, Targets
from gradlab.models.generative import VAE
from gradlab.registry import Part
from gradlab.specs import Picture
from gradlab.tasks.generative import VariationalAutoencoder
from gradlab.training import driver
from gradlab.training.plan import Plan, plan_schema

_SIDE = 28
_RATE = 1e-3
_CPU = torch.device("cpu")


class VAEWork:
    """Which network, on which pictures, for how long."""

    def __init__(self, hidden: int, latent: int, rows: int, batch: int, steps: int):
        self.hidden, self.latent, self.batch, self.steps = hidden, latent, batch, steps
        values, targets = prototypes(rows)
        self.pictures = torch.from_numpy((values > 0).astype(np.float32))
        self.targets = torch.from_numpy(targets)

    @property
    def about(self) -> dict[str, str]:
        return {"device": device_name(_CPU), "versions": versions()}

    def model(self) -> VAE:
        torch.manual_seed(0)
        spec = Picture(1, _SIDE, _SIDE)
        return VAE(spec, 1, latent=self.latent, hidden=[self.hidden], activation=Part("relu"))

    def answer(self, clock: Clock, model: nn.Module, pictures: int) -> dict[str, Any]:
        row = clock.row(self.batch)
        cpu = 1e3 * (clock.cpu[1] - clock.cpu[0]) / (self.steps - self.steps // 2)
        weights = sum(p.numel() for p in model.parameters())
        return {
            "milliseconds": row["milliseconds"],
            "cpu_milliseconds": cpu,
            "pictures_per_second": row["examples_per_second"],
            "losses": row["losses"],
            "pictures": pictures,
            "parameters": weights,
        }


def by_gradlab(work: VAEWork) -> dict[str, Any]:
    """As a recipe trains it."""
    model, task, clock = work.model(), VariationalAutoencoder(Targets()), Clock(work.steps, _CPU)
    values = {"batch_size": work.batch, "steps": work.steps, "lr": _RATE, "optimizer": "adam", "schedule": "constant"}
    plan = Plan(**plan_schema.resolve(values | {"keep": "last", "log_every": work.steps // 2}, "bench"))
    train = Examples.of(work.pictures, work.targets)
    with driver.training(model, task, train, None, plan, observers=[Laps(clock)]) as run:
        steps = run.run().step
    return work.answer(clock, model, steps * work.batch)


class UsualVAE(nn.Module):
    """As one writes it, from the first weights of ours."""

    def __init__(self, hidden: int, latent: int):
        super().__init__()
        pixels = _SIDE * _SIDE
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, hidden), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def take(self, ours: VAE) -> "UsualVAE":
        theirs = dict(ours.named_parameters())
        first, both, third, last = ("encoder.1", "encoder.3", "decoder.0", "decoder.2")
        with torch.no_grad():
            for kind in ("weight", "bias"):
                for layer, name in ((self.encoder[1], first), (self.decoder[0], third), (self.decoder[2], last)):
                    getattr(layer, kind).copy_(theirs[f"{name}.{kind}"])
                halves = theirs[f"{both}.{kind}"].chunk(2)
                for layer, half in zip((self.mean, self.log_variance), halves, strict=True):
                    getattr(layer, kind).copy_(half)
        return self

    def forward(self, x: Tensor) -> tuple[Normal, Bernoulli]:
        h = self.encoder(x)
        q = Normal(self.mean(h), (0.5 * self.log_variance(h)).exp())
        return q, Bernoulli(logits=self.decoder(q.rsample()))


def by_the_usual_loop(work: VAEWork, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    model = UsualVAE(work.hidden, work.latent).take(work.model())
    optimizer = torch.optim.Adam(model.parameters(), lr=_RATE)
    prior = Normal(torch.zeros(work.latent), torch.ones(work.latent))
    batches, seen = _endless(work), 0

    def step() -> Tensor:
        nonlocal seen
        x = next(batches)
        q, p = model(x)
        loss: Tensor = (kl_divergence(q, prior).sum() - p.log_prob(x.flatten(1)).sum()) / len(x)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        seen += len(x)
        return loss

    clock = Clock(work.steps, _CPU)
    by_hand(clock, step)
    return work.answer(clock, model, seen)


def _endless(work: VAEWork) -> Iterator[Tensor]:
    """Batches, epoch after epoch."""
    loader = DataLoader(TensorDataset(work.pictures), batch_size=work.batch, shuffle=True, drop_last=True)
    while True:
        for (x,) in loader:
            yield x
