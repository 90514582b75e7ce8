import torch
from torch import nn


class AbsolutePositionalEmbedding(nn.Module):
    def __init__(self, dim, max_seq_len):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.emb = nn.Embedding(max_seq_len, dim)

    def forward(self, x, offset=0):
        seq_len = x.shape[-2]
        assert seq_len + offset <= self.max_seq_len
        pos = torch.arange(seq_len, device=x.device) + offset
        return x + self.emb(pos)
