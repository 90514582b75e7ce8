"""Named architectures. A builder takes the shape of one input and the number of outputs; its knobs are keywords."""

from gradlab.models.lenet import lenet
from gradlab.models.linear import linear, softmax
from gradlab.models.mlp import mlp
from gradlab.models.registry import Shape, models

__all__ = ["Shape", "lenet", "linear", "mlp", "models", "softmax"]
