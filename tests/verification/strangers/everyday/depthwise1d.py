import torch
from torch import nn


class CausalFreeConv1d(nn.Module):
    """Grouped convolution of a sequence by windows and one einsum."""

    def __init__(self, in_channels, out_channels, kernel_size, groups=1, dilation=1, bias=True):
        super().__init__()
        self.groups, self.k, self.dilation = groups, kernel_size, dilation
        self.kernel = nn.Parameter(torch.randn(out_channels, in_channels // groups, kernel_size) * 0.2)
        if bias:
            self.b = nn.Parameter(torch.zeros(out_channels))
        else:
            self.register_parameter("b", None)

    def forward(self, x):
        B, C, L = x.shape
        span = (self.k - 1) * self.dilation + 1
        w = x.unfold(2, span, 1)[..., :: self.dilation]
        w = w.reshape(B, self.groups, C // self.groups, *w.shape[2:])
        ker = self.kernel.view(self.groups, -1, C // self.groups, self.k)
        y = torch.einsum("bgctk,gock->bgot", w, ker).flatten(1, 2)
        return y if self.b is None else y + self.b.view(1, -1, 1)
