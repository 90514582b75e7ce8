import torch
from torch import nn
from functools import lru_cache


@lru_cache(maxsize=None)
def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].double() / dim))
    t = torch.arange(end)
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


class Rope(nn.Module):
    def __init__(self, head_dim, theta=10000.0):
        super().__init__()
        self.head_dim, self.theta = head_dim, theta

    def forward(self, xq, start_pos=0):
        seqlen = xq.shape[-2]
        freqs_cis = precompute_freqs_cis(self.head_dim, start_pos + seqlen, self.theta)[start_pos : start_pos + seqlen]
        wide = xq if xq.dtype == torch.float64 else xq.float()
        xq_ = torch.view_as_complex(wide.reshape(*xq.shape[:-1], -1, 2))
        xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(-2)
        return xq_out.type_as(xq)
