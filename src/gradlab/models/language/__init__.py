"""Transformers and recurrent networks over token numbers: language models, and encoders of whole texts."""

from gradlab.models.language.bag import BagOfTokens
from gradlab.models.language.encoder import MaskedLanguageModel, TextClassifier, TransformerEncoder
from gradlab.models.language.presets import gpt2, llama
from gradlab.models.language.recurrent import RecurrentLanguageModel
from gradlab.models.language.recurrent_classifier import RecurrentClassifier
from gradlab.models.language.transformer import TransformerLanguageModel

__all__ = [
    "BagOfTokens",
    "MaskedLanguageModel",
    "RecurrentClassifier",
    "RecurrentLanguageModel",
    "TextClassifier",
    "TransformerEncoder",
    "TransformerLanguageModel",
    "gpt2",
    "llama",
]
