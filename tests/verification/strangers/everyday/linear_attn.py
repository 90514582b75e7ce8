import torch
import torch.nn.functional as F


def linear_attention(q, k, v, key_mask=None, eps=1e-12):
    q = F.elu(q) + 1
    k = F.elu(k) + 1
    if key_mask is not None:
        if key_mask.dim() == k.dim():
            key_mask = key_mask.squeeze(-2)
        k = k * key_mask.unsqueeze(-1)
    kv = torch.einsum("...nd,...ne->...de", k, v)
    z = 1 / (torch.einsum("...nd,...d->...n", q, k.sum(-2)) + eps)
    return torch.einsum("...nd,...de,...n->...ne", q, kv, z)
