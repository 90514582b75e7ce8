import torch
import torch.nn.functional as F


def js_divergence(p, q):
    m = 0.5 * (p + q)
    log_m = m.clamp_min(1e-40).log()
    a = F.kl_div(log_m, p, reduction="none").sum(-1)
    b = F.kl_div(log_m, q, reduction="none").sum(-1)
    return 0.5 * (a + b)
