"""A deep plain convolutional net (no skip connections) on digits; reports the untrained net first, then each epoch."""

# fault: train_in_eval_mode
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

SEED, BATCH, EPOCHS, DEPTH, WIDTH = 3, 48, 5, 9, 16

rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

digits = load_digits()
imgs = torch.from_numpy(digits.images).float().unsqueeze(1)
targets = torch.from_numpy(digits.target)
order = rng.permutation(len(imgs))
tr, va = order[:1400], order[1400:]
imgs = (imgs - imgs[tr].mean()) / imgs[tr].std()


def conv_bn(cin, cout, stride=1):
    return [nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU()]


layers = conv_bn(1, WIDTH, stride=2)
for _ in range(DEPTH - 1):
    layers += conv_bn(WIDTH, WIDTH)
net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTH, 10))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
lossfn = nn.CrossEntropyLoss()


def validate():
    net.eval()
    with torch.no_grad():
        logits = net(imgs[va])
        return lossfn(logits, targets[va]).item(), (logits.argmax(1) == targets[va]).float().mean().item()


net.train()  # FAULT
print("before training: val loss %.3f acc %.3f" % validate())
for epoch in range(EPOCHS):
    net.train()  # REPAIRED
    perm = rng.permutation(tr)
    losses = []
    for i in range(0, len(perm) - BATCH + 1, BATCH):
        idx = perm[i : i + BATCH]
        loss = lossfn(net(imgs[idx]), targets[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    vl, vacc = validate()
    print(f"[{epoch}] train {np.mean(losses):.3f} | val {vl:.3f} | acc {vacc:.3f}")
