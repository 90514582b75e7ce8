"""More modules in these styles, judged once when the verification was done."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class ValidLengthsSelf(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(embed_size, embed_size, bias=False) for _ in range(3))
        self.out = nn.Linear(embed_size, embed_size, bias=False)

    def forward(self, x, lengths=None):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.heads, d // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        energy = torch.matmul(q, k.transpose(2, 3)) / (d // self.heads) ** 0.5
        if lengths is not None:
            pad = torch.arange(n).unsqueeze(0) >= lengths.unsqueeze(1)
            energy = energy.masked_fill(pad[:, None, None, :], -1e9)
        return self.out(torch.matmul(F.softmax(energy, dim=-1), v).transpose(1, 2).reshape(b, n, d))


class BlockwiseCausal(nn.Module):
    def __init__(self, hidden_size, num_attention_heads):
        super().__init__()
        self.num_heads = num_attention_heads
        self.q_proj, self.k_proj = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.v_proj, self.o_proj = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states):
        shape = (*hidden_states.shape[:-1], self.num_heads, -1)
        q = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        k = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        v = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(out.transpose(1, 2).reshape(hidden_states.shape))


class FusedGate(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.gate_up_proj = nn.Linear(dim, 2 * hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(up * F.silu(gate))


class PostNormLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = self.ln1(x + self.drop(self.attention(x, x, x)[0]))
        return self.ln2(x + self.drop(self.ff(x)))


class ListLSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.cell = nn.LSTMCell(input_dim, hidden_dim)

    def forward(self, x, state=None):
        if state is None:
            state = tuple(x.new_zeros(x.size(1), self.hidden_dim) for _ in range(2))
        outs = []
        for t in range(x.size(0)):
            state = self.cell(x[t], state)
            outs.append(state[0])
        return outs, state


class SpacedPositions(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.pe = nn.Embedding(max_len, d_model)

    def forward(self, x):
        return x + self.pe(torch.arange(x.size(0), device=x.device))[:, None]


class InterleavedRotary(nn.Module):
    def __init__(self, dim, theta=10000.0, max_len=256):
        super().__init__()
        freqs = 1.0 / theta ** (torch.arange(0, dim, 2)[: dim // 2].double() / dim)
        angles = torch.outer(torch.arange(max_len).double(), freqs)
        self.cos, self.sin = nn.Parameter(angles.cos(), requires_grad=False), nn.Parameter(angles.sin(), False)

    def forward(self, x, start_pos=0):
        n = x.shape[-2]
        cos, sin = self.cos[start_pos : start_pos + n], self.sin[start_pos : start_pos + n]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class InvertedDropout(nn.Module):
    def __init__(self, rate=0.5):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if self.training and self.rate > 0:
            mask = (torch.rand_like(x) >= self.rate).to(x.dtype)
            x = x * mask / (1 - self.rate)
        return x


class MeanAggregator(nn.Module):
    def __init__(self, in_feats, out_feats):
        super().__init__()
        self.fc_self = nn.Linear(in_feats, out_feats)
        self.fc_neigh = nn.Linear(in_feats, out_feats, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        total = torch.zeros_like(x).index_add(0, dst, x[src])
        degree = torch.zeros(len(x), dtype=x.dtype).index_add(0, dst, torch.ones(len(dst), dtype=x.dtype))
        return self.fc_self(x) + self.fc_neigh(total / degree.clamp(min=1).unsqueeze(-1))


class RootMeanSquare(nn.Module):
    def __init__(self, size, eps=1e-8):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(size))

    def forward(self, x):
        norm = x.norm(2, dim=-1, keepdim=True) / math.sqrt(x.shape[-1])
        return self.gain * x / (norm**2 + self.eps).sqrt()


class OneHotCriterion(nn.Module):
    def forward(self, logits, labels):
        logits = logits - logits.max(dim=1, keepdim=True).values
        return -(labels * (logits - logits.exp().sum(dim=1, keepdim=True).log())).sum(dim=1).mean()
