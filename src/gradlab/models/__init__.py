"""Named architectures. A builder takes the shape of one input and the number of outputs; its knobs are keywords."""

from gradlab.models.language import (
    MaskedLanguageModel,
    RecurrentLanguageModel,
    TextClassifier,
    TransformerEncoder,
    TransformerLanguageModel,
)
from gradlab.models.lenet import lenet
from gradlab.models.linear import linear, softmax
from gradlab.models.mlp import mlp
from gradlab.models.ngram import NGram
from gradlab.models.registry import Shape, models

__all__ = [
    "MaskedLanguageModel",
    "NGram",
    "RecurrentLanguageModel",
    "Shape",
    "TextClassifier",
    "TransformerEncoder",
    "TransformerLanguageModel",
    "lenet",
    "linear",
    "mlp",
    "models",
    "softmax",
]
