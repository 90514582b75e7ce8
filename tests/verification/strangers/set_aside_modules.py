"""Modules that no change of the verification was made for."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class ViTLayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.eps = eps
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)

    def forward(self, x):
        dims = tuple(range(-len(self.normalized_shape), 0))
        u = x.mean(dims, keepdim=True)
        s = (x - u).pow(2).mean(dims, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.eps)
        return self.weight * x + self.bias


class T5LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class BertSelfAttention(nn.Module):
    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.head_size = hidden_size // num_attention_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_attention_heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None):
        q, k, v = (self.split(f(hidden_states)) for f in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores / math.sqrt(self.head_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = nn.functional.softmax(scores, dim=-1)
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return self.dense(context.view(*hidden_states.shape))


class D2LMultiHead(nn.Module):
    def __init__(self, num_hiddens, num_heads, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def transpose_qkv(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1).permute(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def forward(self, queries, keys, values):
        q, k, v = (self.transpose_qkv(x) for x in (self.W_q(queries), self.W_k(keys), self.W_v(values)))
        weights = F.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1]), dim=-1)
        out = torch.bmm(weights, v)
        out = out.reshape(-1, self.num_heads, out.shape[1], out.shape[2]).permute(0, 2, 1, 3)
        return self.W_o(out.reshape(out.shape[0], out.shape[1], -1))


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.w_2(F.gelu(self.w_1(x)))


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class D2LRNNScratch(nn.Module):
    def __init__(self, num_inputs, num_hiddens, sigma=0.01):
        super().__init__()
        self.W_xh = nn.Parameter(torch.randn(num_inputs, num_hiddens) * sigma)
        self.W_hh = nn.Parameter(torch.randn(num_hiddens, num_hiddens) * sigma)
        self.b_h = nn.Parameter(torch.zeros(num_hiddens))

    def forward(self, X, state):
        return torch.tanh(torch.matmul(X, self.W_xh) + torch.matmul(state, self.W_hh) + self.b_h)


class GatesApartGRU(nn.Module):
    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.W_ir, self.W_hr = nn.Linear(input_dim, hidden_dim), nn.Linear(hidden_dim, hidden_dim)
        self.W_iz, self.W_hz = nn.Linear(input_dim, hidden_dim), nn.Linear(hidden_dim, hidden_dim)
        self.W_in, self.W_hn = nn.Linear(input_dim, hidden_dim), nn.Linear(hidden_dim, hidden_dim)

    def forward(self, x, h):
        r = torch.sigmoid(self.W_ir(x) + self.W_hr(h))
        z = torch.sigmoid(self.W_iz(x) + self.W_hz(h))
        n = torch.tanh(self.W_in(x) + r * self.W_hn(h))
        return (1 - z) * n + z * h


class ManualConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0):
        super().__init__()
        self.k, self.stride, self.padding = kernel_size, stride, padding
        size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        self.size = size
        self.weight = nn.Parameter(torch.randn(out_channels, in_channels, *size))
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x):
        cols = F.unfold(x, self.size, stride=self.stride, padding=self.padding)
        out = self.weight.flatten(1) @ cols + self.bias[:, None]
        p = self.padding if isinstance(self.padding, tuple) else (self.padding,) * 2
        s = self.stride if isinstance(self.stride, tuple) else (self.stride,) * 2
        h = (x.shape[-2] + 2 * p[0] - self.size[0]) // s[0] + 1
        return out.reshape(x.shape[0], -1, h, out.shape[-1] // h)


class LearnedPReLU(nn.Module):
    def __init__(self, num_parameters=1):
        super().__init__()
        self.alpha = nn.Parameter(torch.full((num_parameters,), 0.25))

    def forward(self, x):
        a = self.alpha.view(1, -1, *[1] * (x.dim() - 2))
        return torch.clamp(x, min=0) + a * torch.clamp(x, max=0)


class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.lut = nn.Embedding(vocab_size, d_model)

    def forward(self, x):
        return self.lut(x)


def mish_free_elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * (torch.exp(torch.clamp(x, max=0)) - 1))


def label_cross_entropy(input, target):
    return F.nll_loss(F.log_softmax(input, dim=-1).flatten(0, -2), target.flatten())


def bce(logits, targets, reduction="mean"):
    loss = F.softplus(logits) - logits * targets
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


class MeanOfNeighbours(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin_l = nn.Linear(in_channels, out_channels)
        self.lin_r = nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, x, edge_index):
        sender, receiver = edge_index
        total = torch.zeros_like(x).index_add(0, receiver, x[sender])
        count = x.new_zeros(len(x)).index_add(0, receiver, x.new_ones(len(sender)))
        return self.lin_l(total / count.clamp(min=1)[:, None]) + self.lin_r(x)


class SmoothedLoss(nn.Module):
    def __init__(self, smoothing=0.1):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, x, target):
        logs = F.log_softmax(x, dim=-1)
        picked = logs.gather(-1, target[..., None])[..., 0]
        return -((1 - self.smoothing) * picked + self.smoothing * logs.mean(-1)).mean()


class RelativeTable(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.relative_position_bias_table = nn.Parameter(0.02 * torch.randn(2 * max_distance + 1, num_heads))

    def forward(self, n, m):
        apart = torch.arange(m) - (torch.arange(n) + m - n)[:, None]
        rows = apart.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return self.relative_position_bias_table[rows].permute(2, 0, 1)


def margin_loss(output, y):
    return torch.clamp(1 - y * output, min=0).mean()
