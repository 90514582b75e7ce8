"""The variational autoencoder of perceptrons."""

import math
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.mlp import mlp
from gradlab.models.registry import models
from gradlab.nn.activations import activations
from gradlab.registry import Count, Part
from gradlab.specs import Array, Table


@models.register("vae")
class VAE(nn.Module):
    r"""A perceptron from an example to the normal distribution of its code, and one from a code to the example.

    $$ q(z \mid x) = N\left(\mu(x), \sigma^2(x)\right), \qquad p(x \mid z) = p\left(x; f(z)\right), \qquad
       p(z) = N(0, 1) $$

    What f(z) says of each number of x is for the task to decide: the logit of a pixel, or the mean of a normal
    variable. With two `outputs` for each number, the second is the logarithm of a standard deviation that all of them
    share (`log_scale`). The hidden layers of the decoder are those of the encoder in the opposite order. Kingma &
    Welling 2013, arXiv:1312.6114.

    >>> model = VAE(Table(6), 1, latent=2, hidden=[4])
    >>> mean, log_variance = model.encode(torch.zeros(3, 6))
    >>> mean.shape, model.decode(mean).shape
    (torch.Size([3, 2]), torch.Size([3, 6]))
    """

    def __init__(
        self,
        inputs: Array,
        outputs: int,
        *,
        latent: Annotated[Count, "numbers of a code z"] = 20,
        hidden: Annotated[list[Count], "units of each hidden layer of the encoder"] = [200, 200],  # noqa: B006
        activation: Annotated[Part, activations, "after each hidden layer"] = Part("tanh"),  # noqa: B008
    ):
        super().__init__()
        self.latent, self.shape = latent, inputs.shape
        self.encoder = mlp(inputs, 2 * latent, hidden=hidden, activation=activation)
        self.decoder = mlp(Table(latent), math.prod(inputs.shape), hidden=hidden[::-1], activation=activation)
        self.log_scale = nn.Parameter(torch.zeros(())) if outputs > 1 else None

    def encode(self, x: Float[Tensor, "batch *shape"]) -> tuple[Float[Tensor, "batch z"], Float[Tensor, "batch z"]]:
        """The mean and the logarithm of the variance of each code."""
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, z: Float[Tensor, "*batch z"]) -> Float[Tensor, "*batch numbers"]:
        """What p(x | z) says of each number of an example, in one row."""
        parameters: Tensor = self.decoder(z)
        return parameters

    def forward(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch numbers"]:
        """What is decoded of the mean of a code."""
        return self.decode(self.encode(x)[0])
