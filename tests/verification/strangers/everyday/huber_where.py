import torch
from torch import nn


class HuberLoss(nn.Module):
    def __init__(self, delta=1.0, reduction="mean"):
        super().__init__()
        self.delta, self.reduction = delta, reduction

    def forward(self, y_pred, y_true):
        err = (y_true - y_pred).abs()
        quad = torch.clamp(err, max=self.delta)
        lin = err - quad
        loss = 0.5 * quad**2 + self.delta * lin
        if self.reduction == "none":
            return loss
        return loss.mean() if self.reduction == "mean" else loss.sum()
