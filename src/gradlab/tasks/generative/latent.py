"""What tasks with a latent space can do beside drawing: reports ask for it."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Encodes(Protocol):
    """Examples have a place in a latent space: the mean where it is a distribution."""

    def encode(self, model: Any, inputs: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch *latent"]: ...


@runtime_checkable
class Reconstructs(Protocol):
    """Examples can be made again of what is kept of them."""

    def reconstruct(self, model: Any, inputs: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch *shape"]: ...


@runtime_checkable
class Decodes(Encodes, Protocol):
    """Any place in the latent space is an example, though no noise says which places there are."""

    def from_codes(self, model: Any, codes: Float[Tensor, "batch *latent"]) -> Float[Tensor, "batch *shape"]: ...
