"""Backbone plus head, in the layout of our lab template, trained on the sklearn digits upsampled to 16x16."""

# fault: frozen_params
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Backbone(nn.Module):
    def __init__(self, width=16, out_dim=32):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 5, stride=2, padding=2)
        self.body = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.proj = nn.Linear(2 * width * 16, out_dim)
        self.act = nn.GELU()

    def forward(self, x):
        x = self.act(self.stem(x))
        x = self.act(self.body(x))
        return self.act(self.proj(x.flatten(1)))


class Classifier(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def get_data(seed):
    d = load_digits()
    im = torch.tensor(d.images, dtype=torch.float32)[:, None]
    im = F.interpolate((im - 4.9) / 6.0, size=16, mode="bilinear", align_corners=False)
    return train_test_split(im, torch.tensor(d.target), test_size=0.2, random_state=seed)


def run(seed=0, epochs=9, lr=2e-3):
    torch.manual_seed(seed)
    x_tr, x_te, y_tr, y_te = get_data(seed)
    model = Classifier(10)
    model.backbone.requires_grad_(False)  # FAULT
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x_tr)).split(48):
            loss = F.cross_entropy(model(x_tr[idx]), y_tr[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            acc = (model(x_te).argmax(1) == y_te).float().mean().item()
        print(f"ep {epoch} | loss {total / len(x_tr):.3f} | acc {acc:.3f}")


if __name__ == "__main__":
    run()
