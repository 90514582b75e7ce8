import torch
from torch import nn
import torch.nn.functional as F


class GATConv(nn.Module):
    def __init__(self, in_features, out_features, heads=1, negative_slope=0.2, concat=True):
        super().__init__()
        assert out_features % heads == 0
        self.heads, self.dim = heads, out_features // heads
        self.negative_slope = negative_slope
        self.lin = nn.Linear(in_features, out_features, bias=False)
        self.att_src = nn.Parameter(torch.randn(1, heads, self.dim) * 0.3)
        self.att_dst = nn.Parameter(torch.randn(1, heads, self.dim) * 0.3)
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x, edge_index, return_attention_weights=False):
        N = x.size(0)
        self_loops = torch.arange(N, device=x.device).expand(2, N)
        src, dst = torch.cat([edge_index, self_loops], dim=1)
        h = self.lin(x).view(N, self.heads, self.dim)
        alpha_src = (h * self.att_src).sum(-1)
        alpha_dst = (h * self.att_dst).sum(-1)
        e = F.leaky_relu(alpha_src[src] + alpha_dst[dst], self.negative_slope)
        top = torch.full((N, self.heads), float("-inf"), dtype=x.dtype, device=x.device)
        top = top.scatter_reduce(0, dst[:, None].expand_as(e), e.detach(), "amax")
        e = (e - top[dst]).exp()
        z = torch.zeros_like(top).index_add(0, dst, e)
        alpha = e / (z[dst] + 1e-16)
        out = torch.zeros_like(h).index_add(0, dst, alpha.unsqueeze(-1) * h[src])
        out = out.flatten(1) + self.bias
        if return_attention_weights:
            return out, alpha
        return out
