"""A generative adversarial network learns eight Gaussians on a ring in the plane: `gradlab train examples/gan.py`.

Two objectives take turns in every step. Each names the parameters that it moves, and the generator has a rate of its
own. No loss tells how good the samples are, so the task is judged by drawing some and comparing them with real points.
"""

from typing import Annotated

import torch
from torch.nn import Linear, Module, ReLU, Sequential
from torch.nn.functional import softplus

import gradlab as gl
from gradlab import specs

MODES, STD, PENALTY = 8, 0.1, 0.05
CENTRES = 2 * torch.view_as_real(torch.exp(2j * torch.pi * torch.arange(MODES) / MODES))


@gl.register.dataset("eight-gaussians")
def eight_gaussians(seed: int, *, examples: Annotated[int, "points to learn from"] = 8192):
    draw = torch.Generator().manual_seed(seed)

    def points(count):
        modes, noise = torch.randint(MODES, [count], generator=draw), torch.randn(count, 2, generator=draw)
        return gl.Examples.by_name({"points": CENTRES[modes] + STD * noise})

    return gl.Dataset.of(points(examples), points(2048), points(2048), spec=specs.Table(2))


@gl.register.model("two-players")
class GAN(Module):
    def __init__(
        self, inputs: specs.Table, outputs, *, latent: Annotated[int, "of z"] = 8, width: Annotated[int, "hidden"] = 64
    ):
        super().__init__()
        self.latent, size = latent, inputs.features
        self.generator = Sequential(Linear(latent, width), ReLU(), Linear(width, width), ReLU(), Linear(width, size))
        self.discriminator = Sequential(Linear(size, width), ReLU(), Linear(width, width), ReLU(), Linear(width, 1))

    def sample(self, like):
        """As many points as are given. Torch draws z from its own generator, whose state is in every checkpoint."""
        return self.generator(torch.randn(len(like), self.latent, device=like.device))


@gl.register.task("adversarial")
class Adversarial(gl.Task):
    criterion = gl.Criterion("coverage", higher_is_better=True)

    def __init__(self, targets, *, generator_lr: Annotated[float, "train.lr is the discriminator's"] = 1e-3):
        self.generator_lr = generator_lr

    def objectives(self):
        generator = gl.Objective(loss=self.deceive, moves="generator", train={"lr": self.generator_lr})
        return {"discriminator": gl.Objective(loss=self.detect, moves="discriminator"), "generator": generator}

    def detect(self, model, batch):
        """-log D(x) - log(1 - D(G(z))), and a penalty on |∇D(x)|²: if D is flat at the data, no mode is given up."""
        real = batch["points"].detach().requires_grad_()
        logit, fake = model.discriminator(real), model.discriminator(model.sample(real).detach())
        (slope,) = torch.autograd.grad(logit.sum(), real, create_graph=True)
        error, steepness = softplus(-logit).sum() + softplus(fake).sum(), slope.square().sum()
        return {"discriminator": (error, len(real)), "penalty": (PENALTY / 2 * steepness, len(real))}

    def deceive(self, model, batch):
        """-log D(G(z)), which has a slope where log(1 - D(G(z))) has none: where the samples are bad."""
        return softplus(-model.discriminator(model.sample(batch["points"]))).sum(), len(batch["points"])

    def evaluate(self, model, split):
        """By the shares of real and of drawn points within three standard deviations of each mode."""
        both = split.parts["points"], model.sample(split.parts["points"])
        real, fake = ((torch.cdist(p, CENTRES.to(p)) < 3 * STD).double().mean(dim=0) for p in both)
        covered = torch.minimum(real, fake)
        return {"coverage": covered.sum().item(), "modes": (covered > real / 4).sum().item(), "near": fake.sum().item()}


@gl.register.recipe
def gan():
    train = {"steps": 2000, "batch_size": 256, "lr": 2e-3, "optimizer": {"name": "adam", "beta1": 0.5}}
    return gl.Recipe("gan", "eight-gaussians", "two-players", "adversarial", train)
