"""Multi-head attention with two mistakes that training would hide: the loss still falls, only not as far."""

import torch
from torch import nn


class ScaledByD(nn.Module):
    """Divides the scores by d, where it should be the root of d."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def heads(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def scores(self, q, k):
        return q @ k.mT / self.head_dim

    def weights(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask

    def forward(self, query, key, value, mask=None):
        q, k, v = self.heads(self.q_proj(query)), self.heads(self.k_proj(key)), self.heads(self.v_proj(value))
        mixed = self.weights(self.scores(q, k), mask) @ v
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class MaskedLate(ScaledByD):
    """Divides rightly, but applies the mask to the weights, after the softmax: what is left does not sum to 1."""

    def scores(self, q, k):
        return q @ k.mT / self.head_dim**0.5

    def weights(self, scores, mask):
        weights = scores.softmax(-1)
        return weights if mask is None else weights * mask


class Right(ScaledByD):
    """Both mended."""

    def scores(self, q, k):
        return q @ k.mT / self.head_dim**0.5
