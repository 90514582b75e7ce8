import torch


def masked_softmax(scores, mask, dim=-1):
    s = scores.masked_fill(~mask, float("-inf"))
    s = s - s.amax(dim, keepdim=True).clamp(min=torch.finfo(s.dtype).min).detach()
    e = s.exp()
    total = e.sum(dim, keepdim=True)
    return e / total.clamp(min=torch.finfo(e.dtype).tiny)
