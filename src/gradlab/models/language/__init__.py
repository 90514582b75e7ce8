"""Language models: called on token numbers, they give the logits of the token after each."""

from gradlab.models.language.recurrent import RecurrentLanguageModel
from gradlab.models.language.transformer import TransformerLanguageModel

__all__ = ["RecurrentLanguageModel", "TransformerLanguageModel"]
