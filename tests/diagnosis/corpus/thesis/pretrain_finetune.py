"""Chapter 5: denoising pre-training on unlabelled digits, then a classifier on the frozen encoder."""

import argparse
import logging
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import nn

log = logging.getLogger("ch5")


@dataclass
class Phase:
    name: str
    epochs: int
    lr: float
    batch_size: int


class Encoder(nn.Module):
    def __init__(self, latent=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, latent))

    def forward(self, x):
        return self.net(x)


def batches(n, size, generator):
    yield from torch.randperm(n, generator=generator).split(size)


def pretrain(encoder, x, phase, gen):
    decoder = nn.Sequential(nn.GELU(), nn.Linear(32, 96), nn.GELU(), nn.Linear(96, 64))
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=phase.lr)
    for epoch in range(phase.epochs):
        total = 0.0
        for b in batches(len(x), phase.batch_size, gen):
            noisy = x[b] + 0.3 * torch.randn(x[b].shape, generator=gen)
            loss = nn.functional.mse_loss(decoder(encoder(noisy)), x[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        log.info("%s epoch %d reconstruction %.4f", phase.name, epoch, total / len(x))


def finetune(encoder, x, y, phase, gen):
    for p in encoder.parameters():
        p.requires_grad_(False)
    encoder.eval()
    head = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 10))
    opt = torch.optim.SGD(head.parameters(), lr=phase.lr, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    for epoch in range(phase.epochs):
        total = 0.0
        for b in batches(len(x), phase.batch_size, gen):
            with torch.no_grad():
                code = encoder(x[b])
            loss = ce(head(code), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        log.info("%s epoch %d cross-entropy %.4f", phase.name, epoch, total / len(x))
    return head


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=9)
    seed = parser.parse_args().seed
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)

    data = load_digits()
    order = torch.randperm(len(data.target), generator=gen)
    x = (torch.tensor(data.data, dtype=torch.float32) / 16)[order]
    y = torch.tensor(data.target)[order]
    x = (x - x[:1400].mean()) / x[:1400].std()

    encoder = Encoder()
    pretrain(encoder, x[:1400], Phase("pretrain", 12, 2e-3, 50), gen)
    head = finetune(encoder, x[:1400], y[:1400], Phase("finetune", 8, 0.02, 35), gen)
    with torch.no_grad():
        acc = (head(encoder(x[1400:])).argmax(1) == y[1400:]).float().mean().item()
    log.info("test accuracy %.3f", acc)


if __name__ == "__main__":
    main()
