"""Multi-head attention as people write it: one that is right, and two that are subtly wrong."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    """Right."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)

    def scores(self, q, k):
        return q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)

    def weights(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return scores.softmax(-1) * mask

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(self.q_proj(query)), self.split(self.k_proj(key)), self.split(self.v_proj(value))
        weights = self.weights(self.scores(q, k), mask)
        mixed = (weights @ v).transpose(1, 2).reshape(query.shape)
        return self.out_proj(mixed)


class DividedByTheDimension(Attention):
    """By d, and not by its root."""

    def scores(self, q, k):
        return q @ k.transpose(-2, -1) / self.head_dim


class MaskedAfterTheSoftmax(Attention):
    """Hidden weights are 0, but the others do not sum to 1."""

    def weights(self, scores, mask):
        weights = scores.softmax(-1)
        return weights if mask is None else weights.masked_fill(~mask, 0.0)


class LoweredAfterTheSoftmax(Attention):
    """A large negative number, added to the weights in place of the scores."""

    def weights(self, scores, mask):
        weights = scores.softmax(-1)
        return weights if mask is None else weights + (~mask) * -1e9


class SelfAttention(nn.Module):
    """Right, of one input, with one matrix for all three, no biases, its weights beside the result, and other names."""

    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, attn_mask=None):
        batch, n, d = x.shape
        q, k, v = self.qkv(x).reshape(batch, n, 3, self.n_heads, d // self.n_heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * (d // self.n_heads) ** -0.5
        if attn_mask is not None:
            scores = scores.masked_fill(attn_mask == 0, -1e30)
        weights = self.dropout(scores.softmax(-1))
        return self.proj((weights @ v).transpose(1, 2).reshape(batch, n, d)), weights


class WithoutMask(nn.Module):
    """Right, with names of its own."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_v))
        return self.W_o(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Unnamed(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, x):
        return x


def scaled_dot_product(q, k, v, mask=None):
    """Right, but for a query that may look nowhere."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


class Plain(nn.Module):
    """Right, and without a constructor."""

    def forward(self, q, k, v, mask=None):
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class DotProductAttention(nn.Module):
    """Right, for batches only, and without a mask."""

    def __init__(self, dropout=0.5):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values):
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        return torch.bmm(self.dropout(scores.softmax(-1)), values)
