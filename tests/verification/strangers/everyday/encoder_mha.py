import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_heads, dropout, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
        self.norm_a = nn.LayerNorm(d_model)
        self.norm_f = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        h = self.norm_a(x)
        h, _ = self.attn(h, h, h)
        x = x + self.drop(h)
        return x + self.drop(self.ff(self.norm_f(x)))
