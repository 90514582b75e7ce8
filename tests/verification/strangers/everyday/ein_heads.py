import torch
from torch import nn, einsum


class EinsumAttention(nn.Module):
    def __init__(self, dim, heads=8, dim_head=None, dropout=0.0):
        super().__init__()
        dim_head = dim_head or dim // heads
        self.scale = dim_head**-0.5
        self.w_q = nn.Parameter(torch.randn(heads, dim, dim_head) * 0.1)
        self.w_k = nn.Parameter(torch.randn(heads, dim, dim_head) * 0.1)
        self.w_v = nn.Parameter(torch.randn(heads, dim, dim_head) * 0.1)
        self.w_o = nn.Parameter(torch.randn(heads, dim_head, dim) * 0.1)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, context=None, mask=None, causal=False):
        context = x if context is None else context
        q = einsum("b n d, h d e -> b h n e", x, self.w_q)
        k = einsum("b n d, h d e -> b h n e", context, self.w_k)
        v = einsum("b n d, h d e -> b h n e", context, self.w_v)
        sim = einsum("b h i e, b h j e -> b h i j", q * self.scale, k)
        neg = -torch.finfo(sim.dtype).max
        if mask is not None:
            if mask.ndim == 3:
                mask = mask[:, None]
            sim = sim.masked_fill(~mask, neg)
        if causal:
            i, j = sim.shape[-2:]
            future = torch.ones(i, j, dtype=torch.bool, device=x.device).triu(j - i + 1)
            sim = sim.masked_fill(future, neg)
        attn = self.drop(sim.softmax(dim=-1))
        out = einsum("b h i j, b h j e -> b h i e", attn, v)
        return einsum("b h n e, h e d -> b n d", out, self.w_o)
