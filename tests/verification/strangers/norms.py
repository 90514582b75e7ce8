"""Normalisation as others write it."""

import torch
from torch import nn


class AnnotatedLayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2


class HFRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class LucidRMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim**0.5
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return nn.functional.normalize(x, dim=-1) * self.scale * self.g


class D2LBatchNorm(nn.Module):
    def __init__(self, num_features, momentum=0.1, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(num_features))
        self.beta = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("moving_mean", torch.zeros(num_features))
        self.register_buffer("moving_var", torch.ones(num_features))
        self.momentum, self.eps = momentum, eps

    def forward(self, X):
        shape = (1, -1) + (1,) * (X.dim() - 2)
        if self.training:
            dims = [d for d in range(X.dim()) if d != 1]
            mean = X.mean(dims)
            var = ((X - mean.view(shape)) ** 2).mean(dims)
            n = X.numel() / X.shape[1]
            with torch.no_grad():
                self.moving_mean = (1 - self.momentum) * self.moving_mean + self.momentum * mean
                self.moving_var = (1 - self.momentum) * self.moving_var + self.momentum * var * n / (n - 1)
        else:
            mean, var = self.moving_mean, self.moving_var
        X_hat = (X - mean.view(shape)) / torch.sqrt(var.view(shape) + self.eps)
        return self.gamma.view(shape) * X_hat + self.beta.view(shape)


class TimmGroupNorm(nn.Module):
    def __init__(self, num_channels, num_groups=32, eps=1e-5):
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        self.weight = nn.Parameter(torch.ones(1, num_channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(1, num_channels, 1, 1))

    def forward(self, x):
        B, C, H, W = x.shape
        g = x.reshape(B, self.num_groups, -1)
        g = (g - g.mean(-1, keepdim=True)) / (g.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()
        return g.reshape(B, C, H, W) * self.weight + self.bias
