"""A mixture of Gaussians learns by expectation-maximisation, without gradients: `gradlab train examples/mixture.py`.

A model that has `learn_without_gradients` is asked to learn from each batch, here all of the points, in place of an
optimiser's step. Its buffers are what checkpoints hold. No step of EM makes the points less likely.
"""

from typing import Annotated

import torch
from torch import nn
from torch.distributions import MultivariateNormal

import gradlab as gl
from gradlab import specs

CENTRES = torch.tensor([[-12, -10], [12, -10], [0, 6], [2, 13]]) / 10
SHAPES = torch.tensor([[[5, 3], [0, 2]], [[3, -3], [0, 3]], [[8, 0], [0, 1]], [[2, 0], [0, 2]]]) / 10


@gl.register.dataset("clusters")
def clusters(seed: int, *, examples: Annotated[int, "points to learn from"] = 1000):
    draw = torch.Generator().manual_seed(seed)

    def points(count):
        which, noise = torch.randint(4, [count], generator=draw), torch.randn(count, 1, 2, generator=draw)
        return gl.Examples.by_name({"points": (CENTRES[which] + (noise @ SHAPES[which]).squeeze(1)).double()})

    return gl.Dataset.of(points(examples), points(1000), points(1000), spec=specs.Table(2))


@gl.register.model("mixture")
class Mixture(nn.Module):
    """log p(x) = log Σ_k π_k N(x; μ_k, C_k), in double precision: an optimum of EM is flat."""

    def __init__(
        self, inputs: specs.Table, outputs, *, components: int = 4, floor: Annotated[float, "least variance"] = 1e-6
    ):
        super().__init__()
        self.floor, size = floor, inputs.features
        self.register_buffer("weights", torch.ones(components).double() / components)
        self.register_buffer("means", torch.randn(components, size).double())
        self.register_buffer("covariances", torch.eye(size).double().repeat(components, 1, 1))

    def joint(self, x):
        """log π_k N(x; μ_k, C_k), of each point and component."""
        return self.weights.log() + MultivariateNormal(self.means, self.covariances).log_prob(x[:, None])

    def forward(self, x):
        return self.joint(x).logsumexp(dim=1)

    def learn_without_gradients(self, train, batch):
        x = batch["points"]
        shares = self.joint(x).softmax(dim=1)  # E: how much of a point each component has
        totals = shares.sum(dim=0)  # M: what makes points that are so shared the most likely
        self.weights = totals / len(x)
        self.means = shares.T @ x / totals[:, None]
        apart = x[:, None] - self.means
        self.covariances = torch.einsum("nk,nki,nkj->kij", shares, apart, apart) / totals[:, None, None]
        self.covariances.diagonal(dim1=1, dim2=2).add_(self.floor)  # lest one falls onto a single point


@gl.register.task("point-density")
class Density(gl.Task):
    loss_floor = None  # a density may be as large as it likes

    def objectives(self):
        return {"loss": gl.Objective(loss=lambda model, batch: (-model(batch["points"]).sum(), len(batch["points"])))}

    def baselines(self, train, model):
        one = Mixture(specs.Table(2), 0, components=1).to(train.device)
        one.learn_without_gradients(train, train.batch(slice(None)))
        return {"one Gaussian": one}


@gl.register.recipe
def mixture():
    return gl.Recipe("mixture", "clusters", "mixture", "point-density", {"steps": 50, "batch_size": "full"})
