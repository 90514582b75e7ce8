"""Modules whose habits differ from ours: axes of masks and inputs, float32 on the way, state outside of buffers."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class MaskOfExamples(nn.Module):
    """Its mask is always (batch, n, m): another would be broadcast over examples and heads the wrong way."""

    def __init__(self, h, d_model, dropout=0.0):
        super().__init__()
        self.width, self.h = d_model // h, h
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def _split(self, layer, x):
        return layer(x).view(len(x), -1, self.h, self.width).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = (self._split(*pair) for pair in zip(self.linears, (query, key, value), strict=False))
        scores = q @ k.mT / math.sqrt(self.width)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        seen = self.dropout(scores.softmax(-1)) @ v
        return self.linears[-1](seen.transpose(1, 2).flatten(2))


class GroupedHeads(nn.Module):
    def __init__(self, dim, n_heads=8, n_kv_heads=None):
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads or n_heads
        self.head_dim = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(n_heads * self.head_dim, dim, bias=False)

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.n_heads, -1).transpose(1, 2)
        k, v = (w(x).view(b, n, self.n_kv_heads, -1).transpose(1, 2) for w in (self.wk, self.wv))
        k, v = (t.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1) for t in (k, v))
        scores = q @ k.mT / math.sqrt(self.head_dim)
        if mask is not None:
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class FloatRMSNorm(nn.Module):
    """Its middle is computed in float32, whatever comes in."""

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return wide.type_as(x) * self.scale


class CausalLinearAttention(nn.Module):
    def forward(self, q, k, v, is_causal=False):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        if not is_causal:
            return q @ (k.mT @ v) / (q @ k.sum(-2)[..., None])
        sums = (k[..., None] * v[..., None, :]).cumsum(-3)
        weights = k.cumsum(-2)
        return torch.einsum("...nd,...nde->...ne", q, sums) / (q * weights).sum(-1, keepdim=True)


class PlainStateBatchNorm(nn.Module):
    """Tables or pictures, by an argument; running statistics are plain tensors; ε and the momentum are fixed."""

    def __init__(self, num_features, num_dims=4):
        super().__init__()
        shape = (1, num_features) if num_dims == 2 else (1, num_features, 1, 1)
        self.gamma, self.beta = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))
        self.moving_mean, self.moving_var = torch.zeros(shape), torch.ones(shape)

    def forward(self, X):
        axes = [0, 2, 3] if X.dim() == 4 else [0]
        mean, var = self.moving_mean, self.moving_var
        if self.training:
            mean, var = X.mean(axes, keepdim=True), X.var(axes, unbiased=False, keepdim=True)
            count = X.numel() / X.shape[1]
            self.moving_mean = 0.9 * self.moving_mean + 0.1 * mean.detach()
            self.moving_var = 0.9 * self.moving_var + 0.1 * var.detach() * count / (count - 1)
        return self.gamma * (X - mean) / torch.sqrt(var + 1e-5) + self.beta


class ComplexRotary(nn.Module):
    """Pairs are complex numbers, of float32."""

    def __init__(self, head_dim, theta=10000.0, max_seq_len=256):
        super().__init__()
        rates = theta ** -(torch.arange(0, head_dim, 2).float() / head_dim)
        angles = torch.arange(max_seq_len)[:, None] * rates
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def forward(self, x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * self.turns[: x.shape[-2]]).flatten(-2).type_as(x)


class BucketedBias(nn.Module):
    def __init__(self, num_heads, num_buckets=32, max_distance=128):
        super().__init__()
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.relative_attention_bias = nn.Embedding(num_buckets, num_heads)

    def forward(self, query_length, key_length):
        queries = torch.arange(query_length)[:, None] + key_length - query_length
        apart = torch.arange(key_length) - queries
        half = self.num_buckets // 2
        exact, far = half // 2, apart.abs()
        log = torch.log(far.clamp(min=1).float() / exact) / math.log(self.max_distance / exact)
        bucket = torch.where(far < exact, far, (exact + (log * (half - exact)).long()).clamp(max=half - 1))
        return self.relative_attention_bias(bucket + half * (apart > 0)).permute(2, 0, 1)


class LoopedLSTM(nn.Module):
    """All gates in one product; its matrices lie transposed, and there is one bias."""

    def __init__(self, input_sz, hidden_sz):
        super().__init__()
        self.hidden_size = hidden_sz
        self.W = nn.Parameter(torch.empty(input_sz, hidden_sz * 4).uniform_(-0.1, 0.1))
        self.U = nn.Parameter(torch.empty(hidden_sz, hidden_sz * 4).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(hidden_sz * 4))

    def forward(self, x, state=None):
        zeros = x.new_zeros(len(x), self.hidden_size)
        h, c = (zeros, zeros) if state is None else (part[0] for part in state)
        outputs = []
        for step in x.unbind(1):
            i, f, g, o = (step @ self.W + h @ self.U + self.bias).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        return torch.stack(outputs, 1), (h[None], c[None])
