"""A text as a bag of tokens: what a model that reads their order should beat."""

from typing import Annotated

from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.models.registry import models
from gradlab.registry import Count, Fraction
from gradlab.specs import Tokens


class BagOfTokens(nn.Module):
    r"""The mean of the tokens' embeddings, and logits of the classes. The token 0 is padding, and not counted.

    $$ z = W \frac{1}{T} \sum_{t=1}^T e_{x_t} + b $$

    Joulin et al. 2016, arXiv:1607.01759, without pairs of neighbours.

    >>> import torch
    >>> bag = BagOfTokens(vocabulary=10, classes=3, dim=4)
    >>> torch.allclose(bag(torch.tensor([[4, 5, 0]])), bag(torch.tensor([[5, 4]])))
    True
    """

    def __init__(self, vocabulary: int, classes: int, *, dim: int, dropout: float = 0.0):
        super().__init__()
        self.classes = classes
        self.embedding = nn.EmbeddingBag(vocabulary, dim, mode="mean", padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens: Int64[Tensor, "batch length"]) -> Float[Tensor, "batch {self.classes}"]:
        logits: Tensor = self.head(self.dropout(self.embedding(tokens)))
        return logits


@models.register("text-bag")
def text_bag(
    inputs: Tokens,
    outputs: int,
    *,
    dim: Annotated[Count, "features of a token"] = 64,
    dropout: Annotated[Fraction, "probability of dropping a feature of the mean"] = 0.0,
) -> nn.Module:
    """The mean of the embeddings of a text's tokens, whatever their order, and a linear map to its classes."""
    return BagOfTokens(inputs.vocabulary, outputs, dim=dim, dropout=dropout)
