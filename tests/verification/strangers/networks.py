"""Feed-forward and recurrent networks, activations, losses and positions as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class TimmMlp(nn.Module):
    def __init__(self, in_features, hidden_features):
        super().__init__()
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_features, in_features)

    def forward(self, x):
        x = self.fc1(x)
        x = self.act(x)
        return self.fc2(x)


class LlamaMLP(nn.Module):
    def __init__(self, hidden_size, intermediate_size):
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class TutorialRNNCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.x2h = nn.Linear(input_size, hidden_size)
        self.h2h = nn.Linear(hidden_size, hidden_size)

    def forward(self, x, hidden):
        return torch.tanh(self.x2h(x) + self.h2h(hidden))


class TutorialLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.x2h = nn.Linear(input_size, 4 * hidden_size)
        self.h2h = nn.Linear(hidden_size, 4 * hidden_size)

    def forward(self, x, hx):
        h, c = hx
        gates = self.x2h(x) + self.h2h(h)
        i, f, g, o = gates.chunk(4, 1)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        c = f * c + i * g
        h = o * torch.tanh(c)
        return h, c


class TutorialGRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.x2h = nn.Linear(input_size, 3 * hidden_size)
        self.h2h = nn.Linear(hidden_size, 3 * hidden_size)

    def forward(self, x, h):
        x_r, x_z, x_n = self.x2h(x).chunk(3, 1)
        h_r, h_z, h_n = self.h2h(h).chunk(3, 1)
        r, z = torch.sigmoid(x_r + h_r), torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        return (1 - z) * n + z * h


class D2LLSTMScratch(nn.Module):
    def __init__(self, num_inputs, num_hiddens, sigma=0.01):
        super().__init__()

        def three():
            return (
                nn.Parameter(torch.randn(num_inputs, num_hiddens) * sigma),
                nn.Parameter(torch.randn(num_hiddens, num_hiddens) * sigma),
                nn.Parameter(torch.zeros(num_hiddens)),
            )

        self.W_xi, self.W_hi, self.b_i = three()
        self.W_xf, self.W_hf, self.b_f = three()
        self.W_xo, self.W_ho, self.b_o = three()
        self.W_xc, self.W_hc, self.b_c = three()

    def forward(self, X, state):
        H, C = state
        I_ = torch.sigmoid(torch.matmul(X, self.W_xi) + torch.matmul(H, self.W_hi) + self.b_i)
        F_ = torch.sigmoid(torch.matmul(X, self.W_xf) + torch.matmul(H, self.W_hf) + self.b_f)
        O_ = torch.sigmoid(torch.matmul(X, self.W_xo) + torch.matmul(H, self.W_ho) + self.b_o)
        C_tilde = torch.tanh(torch.matmul(X, self.W_xc) + torch.matmul(H, self.W_hc) + self.b_c)
        C = F_ * C + I_ * C_tilde
        H = O_ * torch.tanh(C)
        return H, C


class D2LLinear(nn.Module):
    def __init__(self, in_units, units):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(in_units, units))
        self.bias = nn.Parameter(torch.randn(units))

    def forward(self, X):
        return torch.matmul(X, self.weight) + self.bias


class SpatialDropout(nn.Module):
    def __init__(self, dropout=0.5):
        super().__init__()
        self.dropout = dropout

    def forward(self, X):
        if not self.training or self.dropout == 0:
            return X
        mask = (torch.rand_like(X) > self.dropout).to(X.dtype)
        return mask * X / (1.0 - self.dropout)


class TimmDropPath(nn.Module):
    def __init__(self, drop_prob=0.0):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        if self.drop_prob == 0.0 or not self.training:
            return x
        keep_prob = 1 - self.drop_prob
        random_tensor = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep_prob)
        return x * random_tensor.div_(keep_prob)


class NewGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def swish(x):
    return x * torch.sigmoid(x)


def relu(X):
    a = torch.zeros_like(X)
    return torch.max(X, a)


class StableSoftmax(nn.Module):
    def forward(self, x):
        e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
        return e / e.sum(dim=-1, keepdim=True)


class StableSoftplus(nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0) + torch.log1p(torch.exp(-x.abs()))


class SinusoidalPE(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class LlamaRotary(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).double() / dim))
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, x):
        t = torch.arange(x.shape[-2], device=x.device).double()
        freqs = torch.outer(t, self.inv_freq.double())
        emb = torch.cat((freqs, freqs), dim=-1)
        x1, x2 = x.chunk(2, dim=-1)
        return (x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()).to(x.dtype)


class GPTPosition(nn.Module):
    def __init__(self, block_size, n_embd):
        super().__init__()
        self.wpe = nn.Embedding(block_size, n_embd)

    def forward(self, x, start_pos=0):
        pos = torch.arange(start_pos, start_pos + x.size(-2), device=x.device)
        return x + self.wpe(pos)


def huber(pred, target, delta=1.0, reduction="mean"):
    err = (pred - target).abs()
    loss = torch.where(err <= delta, 0.5 * err**2, delta * (err - 0.5 * delta))
    return {"mean": loss.mean, "sum": loss.sum, "none": lambda: loss}[reduction]()


def focal_free_cross_entropy(logits, target):
    logp = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    return -logp.gather(-1, target.unsqueeze(-1)).squeeze(-1).mean()
