"""Named architectures. A builder takes what one input is (`gradlab.specs`) and the number of outputs; its knobs are
keywords. Language models have an output for each token of the vocabulary, whatever number is asked for."""

from gradlab.models.building import build_model
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
from gradlab.models.registry import models

__all__ = [
    "MaskedLanguageModel",
    "NGram",
    "RecurrentLanguageModel",
    "TextClassifier",
    "TransformerEncoder",
    "TransformerLanguageModel",
    "build_model",
    "lenet",
    "linear",
    "mlp",
    "models",
    "softmax",
]
