"""The same answer to every example: what a model must beat to have learned something from its inputs."""

from jaxtyping import Float, Shaped
from torch import Tensor, nn


class Constant(nn.Module):
    """A model that looks at nothing.

    >>> Constant(Tensor([0.1, 0.9]))(Tensor(3, 5)).shape
    torch.Size([3, 2])
    """

    output: Tensor

    def __init__(self, output: Float[Tensor, "*outputs"]):
        super().__init__()
        self.register_buffer("output", output)

    def forward(self, inputs: Shaped[Tensor, "batch *inputs"]) -> Float[Tensor, "batch *outputs"]:
        return self.output.expand(len(inputs), *self.output.shape)
