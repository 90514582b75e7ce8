"""A variational autoencoder learns handwritten digits of 8×8 black or white pixels: `gradlab train examples/vae.py`.

The model itself computes its loss, the negative evidence lower bound, as two sums that are logged apart and added up.
Evaluation draws too; its random numbers are set apart, so that they are the same each time and training's go on.
"""

from typing import Annotated

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

import gradlab as gl
from gradlab import specs


@gl.register.dataset("black-and-white-digits")
def black_and_white_digits(seed: int):
    pixels = torch.from_numpy(load_digits().images).flatten(1)
    order = torch.randperm(len(pixels), generator=torch.Generator().manual_seed(seed))
    # Each pixel is one of two values, so that the decoder's Bernoulli distributions are a likelihood of them.
    train, validation, test = (
        gl.Examples.by_name({"pixels": (pixels[rows] > 7.5).float()}) for rows in order.split([1297, 200, 300])
    )
    return gl.Dataset.of(train, validation, test, spec=specs.Table(64))


@gl.register.model("pixel-vae")
class VAE(nn.Module):
    """-log p(x) ≤ E[-log p(x | z)] + KL(q(z | x) ‖ N(0, 1)), with z drawn from q."""

    def __init__(
        self,
        inputs: specs.Table,
        outputs: int,
        *,
        latent: Annotated[int, "numbers in z"] = 8,
        width: Annotated[int, "hidden units of encoder and decoder"] = 128,
    ):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs.features, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, inputs.features))

    def forward(self, x):
        mean, log_std = self.encoder(x).chunk(2, dim=1)
        z = mean + log_std.exp() * torch.randn_like(mean)
        kl = (mean.square() + (2 * log_std).exp() - 1) / 2 - log_std
        return {
            "reconstruction": (cross_entropy(self.decoder(z), x, reduction="sum"), len(x)),
            "kl": (kl.sum(), len(x)),
        }


class IndependentPixels(nn.Module):
    """The baseline: each pixel is white as often as in the training split, whatever the others are."""

    def __init__(self, x):
        super().__init__()
        self.register_buffer("logit", torch.logit((x.sum(0) + 1) / (len(x) + 2)))

    def forward(self, x):
        logits = self.logit.expand_as(x)
        return {"reconstruction": (cross_entropy(logits, x, reduction="sum"), len(x)), "kl": (x.new_zeros(()), len(x))}


@gl.register.task("likelihood")
class Likelihood(gl.Task):
    def objectives(self):
        return {"elbo": gl.Objective(loss=lambda model, batch: model(batch["pixels"]))}

    def baselines(self, train, model):
        return {"independent pixels": IndependentPixels(train.parts["pixels"])}


@gl.register.recipe
def vae():
    train = {"epochs": 100, "batch_size": 64, "lr": 2e-3}
    return gl.Recipe("vae", "black-and-white-digits", "pixel-vae", "likelihood", train)
