import torch
from torch import nn
import torch.nn.functional as F


class UnfoldConv2d(nn.Module):
    def __init__(self, in_ch, out_ch, kernel_size, stride=1, padding=0, bias=True):
        super().__init__()
        self.k = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.s = (stride, stride) if isinstance(stride, int) else tuple(stride)
        self.p = (padding, padding) if isinstance(padding, int) else tuple(padding)
        self.weight = nn.Parameter(torch.randn(out_ch, in_ch, *self.k) * 0.1)
        self.bias = nn.Parameter(torch.zeros(out_ch)) if bias else None

    def forward(self, x):
        N, C, H, W = x.shape
        cols = F.unfold(x, self.k, padding=self.p, stride=self.s)
        out = self.weight.flatten(1) @ cols
        if self.bias is not None:
            out += self.bias[:, None]
        oh = (H + 2 * self.p[0] - self.k[0]) // self.s[0] + 1
        ow = (W + 2 * self.p[1] - self.k[1]) // self.s[1] + 1
        return out.view(N, -1, oh, ow)
