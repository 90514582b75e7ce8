"""Modules as courses and libraries write them: lengths for masks, packed gates, steps first, causal."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def sequence_softmax(scores, valid_lens):
    if valid_lens is None:
        return scores.softmax(-1)
    columns = torch.arange(scores.shape[-1])[None, None, :]
    hidden = columns >= valid_lens[:, None, None]
    return scores.masked_fill(hidden, -1e6).softmax(-1)


class LengthsDotAttention(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        if valid_lens is not None:
            hidden = torch.arange(keys.shape[1])[None, None, :] >= valid_lens[:, None, None]
            scores = scores.masked_fill(hidden, -1e6)
        self.attention_weights = scores.softmax(-1)
        return torch.bmm(self.dropout(self.attention_weights), values)


class LengthsMultiHead(nn.Module):
    def __init__(self, num_hiddens, num_heads, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def split(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1).permute(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def forward(self, queries, keys, values, valid_lens):
        queries, keys, values = self.split(self.W_q(queries)), self.split(self.W_k(keys)), self.split(self.W_v(values))
        if valid_lens is not None:
            valid_lens = torch.repeat_interleave(valid_lens, repeats=self.num_heads, dim=0)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        output = torch.bmm(sequence_softmax(scores, valid_lens), values)
        output = output.reshape(-1, self.num_heads, output.shape[1], output.shape[2]).permute(0, 2, 1, 3)
        return self.W_o(output.reshape(output.shape[0], output.shape[1], -1))


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size=64):
        super().__init__()
        self.n_head, self.n_embd = n_head, n_embd
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = att.softmax(dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class StepsFirstAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(d_model, d_model) for _ in range(3))
        self.output = nn.Linear(d_model, d_model)

    def forward(self, *, query, key, value):
        steps, batch, d = query.shape
        q, k, v = (
            layer(t).view(len(t), batch, self.heads, -1)
            for layer, t in ((self.query, query), (self.key, key), (self.value, value))
        )
        scores = torch.einsum("ibhd,jbhd->ijbh", q, k) * (d // self.heads) ** -0.5
        return self.output(torch.einsum("ijbh,jbhd->ibhd", scores.softmax(1), v).reshape(steps, batch, d))


class AttentionInside(nn.Module):
    """A module around the one that is meant."""

    def __init__(self, dim, heads):
        super().__init__()
        self.mha = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x):
        return self.mha(x, x, x, need_weights=False)[0]


class SingleHeadHasNoMap(nn.Module):
    def __init__(self, dim, heads=8):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False) if heads > 1 else nn.Identity()

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (t.reshape(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        out = (q @ k.transpose(-1, -2) * self.scale).softmax(dim=-1) @ v
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))


class PackedSwiGLU(nn.Module):
    def __init__(self, in_features, hidden_features):
        super().__init__()
        self.w12 = nn.Linear(in_features, 2 * hidden_features)
        self.w3 = nn.Linear(hidden_features, in_features)

    def forward(self, x):
        x1, x2 = self.w12(x).chunk(2, dim=-1)
        return self.w3(F.silu(x1) * x2)


class GateLast(nn.Module):
    def __init__(self, dim, inner_dim):
        super().__init__()
        self.proj_in = nn.Linear(dim, inner_dim * 2, bias=False)
        self.proj_down = nn.Linear(inner_dim, dim, bias=False)

    def forward(self, x):
        x, gate = self.proj_in(x).chunk(2, dim=-1)
        return self.proj_down(x * F.silu(gate))


class LayeredFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.contract(self.dropout(F.gelu(self.expand(x))))


class TorchEncoder(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.0):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=True)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-6)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, src, src_mask=None):
        if src_mask is not None and src_mask.dim() == 3:
            src_mask = src_mask.repeat_interleave(self.self_attn.num_heads, dim=0)
        x = self.norm1(src)
        src = src + self.self_attn(x, x, x, attn_mask=src_mask)[0]
        return src + self.linear2(F.gelu(self.linear1(self.norm2(src))))


class MaskedEncoder(nn.Module):
    def __init__(self, dim, heads, mlp_dim):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.GELU(), nn.Linear(mlp_dim, dim))

    def attend(self, x, mask):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), -1e9)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, mask=None):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class NanoBlock(nn.Module):
    def __init__(self, n_embd, n_head, n_inner):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(n_embd, n_inner), "c_proj": nn.Linear(n_inner, n_embd)})

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        m = self.ln_2(x)
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(m)))


class ScratchRNN(nn.Module):
    """Its outputs are a list of steps, and its state has no axis of layers."""

    def __init__(self, num_inputs, num_hiddens, sigma=0.01):
        super().__init__()
        self.num_hiddens = num_hiddens
        self.W_xh = nn.Parameter(torch.randn(num_inputs, num_hiddens) * sigma)
        self.W_hh = nn.Parameter(torch.randn(num_hiddens, num_hiddens) * sigma)
        self.b_h = nn.Parameter(torch.zeros(num_hiddens))

    def forward(self, inputs, state=None):
        if state is None:
            state = torch.zeros((inputs.shape[1], self.num_hiddens), dtype=inputs.dtype)
        outputs = []
        for X in inputs:
            state = torch.tanh(torch.matmul(X, self.W_xh) + torch.matmul(state, self.W_hh) + self.b_h)
            outputs.append(state)
        return outputs, state


class StackedCells(nn.Module):
    def __init__(self, input_size, hidden_size, n_layers):
        super().__init__()
        self.cells = nn.ModuleList(nn.GRUCell(hidden_size if i else input_size, hidden_size) for i in range(n_layers))
        self.hidden_size = hidden_size

    def forward(self, x, state=None):
        steps, batch, _ = x.shape
        h = list(state) if state is not None else [x.new_zeros(batch, self.hidden_size) for _ in self.cells]
        out = []
        for t in range(steps):
            inp = x[t]
            for i, cell in enumerate(self.cells):
                h[i] = cell(inp, h[i])
                inp = h[i]
            out.append(inp)
        return torch.stack(out), torch.stack(h)


class BothWays(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.rnn = nn.LSTM(input_size, hidden_size, bidirectional=True)

    def forward(self, x, state=None):
        return self.rnn(x, state)


class MinimalGRUCell(nn.Module):
    def __init__(self, in_size, hid_size):
        super().__init__()
        self.w_ih = nn.Parameter(torch.randn(3 * hid_size, in_size))
        self.w_hh = nn.Parameter(torch.randn(3 * hid_size, hid_size))
        self.b_ih = nn.Parameter(torch.zeros(3 * hid_size))
        self.b_hh = nn.Parameter(torch.zeros(3 * hid_size))

    def forward(self, x, h):
        x_r, x_z, x_n = F.linear(x, self.w_ih, self.b_ih).chunk(3, dim=-1)
        h_r, h_z, h_n = F.linear(h, self.w_hh, self.b_hh).chunk(3, dim=-1)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        return n + z * (h - n)


class StepsFirstPositions(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=500):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])


class FrozenPositions(nn.Module):
    def __init__(self, dim, max_len=500):
        super().__init__()
        angles = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim)
        table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        self.pos_embed = nn.Parameter(table[None], requires_grad=False)

    def forward(self, x):
        return x + self.pos_embed[:, : x.shape[1]]


class HalfRotary(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / base ** (torch.arange(0, dim, 2).float() / dim), persistent=False)

    def forward(self, x, offset=0):
        t = torch.arange(offset, offset + x.shape[-2], dtype=torch.float32)
        freqs = torch.outer(t, self.inv_freq.float())
        emb = torch.cat((freqs, freqs), dim=-1)
        x1, x2 = x.chunk(2, dim=-1)
        return (x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()).to(x.dtype)


class AlibiBias(nn.Module):
    def __init__(self, num_heads):
        super().__init__()
        n = 2 ** math.floor(math.log2(num_heads))
        slopes = [2 ** (-8.0 * i / n) for i in range(1, n + 1)]
        slopes += [2 ** (-4.0 * i / n) for i in range(1, 2 * n + 1, 2)][: num_heads - n]
        self.register_buffer("slopes", torch.tensor(slopes).view(-1, 1, 1))

    def forward(self, n, m):
        apart = torch.arange(m)[None, :] - (torch.arange(n)[:, None] + m - n)
        return -apart.abs() * self.slopes


class ElementDropout(nn.Module):
    def __init__(self, drop_prob=0.5):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        if not self.training or self.drop_prob == 0.0:
            return x
        keep = 1.0 - self.drop_prob
        return x * torch.bernoulli(torch.full_like(x, keep)) / keep


class SoftTargetLoss(nn.Module):
    def forward(self, x, target):
        return torch.sum(-target * F.log_softmax(x, dim=-1), dim=-1).mean()


class SmoothingCriterion(nn.Module):
    def __init__(self, smoothing=0.1):
        super().__init__()
        self.smoothing, self.confidence = smoothing, 1.0 - smoothing

    def forward(self, x, target):
        logprobs = F.log_softmax(x, dim=-1)
        nll_loss = -logprobs.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)
        return (self.confidence * nll_loss - self.smoothing * logprobs.mean(dim=-1)).mean()


def soft_max(x, dim=None):
    x = x - x.amax(dim=dim, keepdim=True)
    return x.exp() / x.exp().sum(dim=dim, keepdim=True)


class TransposedLinear(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.empty(nx, nf).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        size = (*x.size()[:-1], self.nf)
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(size)


class GCNLayer(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x, edge_index):
        n = x.size(0)
        adjacency = torch.zeros(n, n, dtype=x.dtype)
        adjacency[edge_index[1], edge_index[0]] = 1.0
        adjacency = adjacency + torch.eye(n, dtype=x.dtype)
        d = adjacency.sum(1).pow(-0.5)
        return d[:, None] * adjacency * d[None, :] @ self.lin(x) + self.bias


class ChannelsNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.eps = eps

    def forward(self, x):
        u = x.mean(-1, keepdim=True)
        s = (x - u).pow(2).mean(-1, keepdim=True)
        return self.weight * ((x - u) / torch.sqrt(s + self.eps)) + self.bias


class BatchNormByHand(nn.Module):
    def __init__(self, channels, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.scale, self.shift = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.register_buffer("exp_mean", torch.zeros(channels))
        self.register_buffer("exp_var", torch.ones(channels))

    def forward(self, x):
        axes = [0, *range(2, x.dim())]
        shape = [1, -1] + [1] * (x.dim() - 2)
        if self.training:
            mean, var = x.mean(axes), x.var(axes, unbiased=False)
            n = x.numel() / x.size(1)
            with torch.no_grad():
                self.exp_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
                self.exp_var.mul_(1 - self.momentum).add_(self.momentum * var * n / (n - 1))
        else:
            mean, var = self.exp_mean, self.exp_var
        x = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + self.eps)
        return self.scale.view(shape) * x + self.shift.view(shape)


def reverse_free_kl(p, q):
    return (torch.xlogy(p, p) - torch.xlogy(p, q)).sum(dim=-1)


def linear_attention(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    k_cumsum = k.sum(dim=-2)
    D_inv = 1.0 / torch.einsum("...nd,...d->...n", q, k_cumsum)
    context = torch.einsum("...nd,...ne->...de", k, v)
    return torch.einsum("...de,...nd,...n->...ne", context, q, D_inv)
