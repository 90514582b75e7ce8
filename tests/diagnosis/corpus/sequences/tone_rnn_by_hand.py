"""A recurrent network written by hand tells four tones apart in noisy waveforms."""

# fault: exploding_gradient
import math

import torch
from torch import nn

torch.manual_seed(11)

N_CLASSES, T, HIDDEN = 4, 50, 64
FREQS = torch.tensor([0.04, 0.08, 0.13, 0.2])


def make_waves(n):
    label = torch.randint(0, N_CLASSES, (n,))
    phase = 2 * math.pi * torch.rand(n, 1)
    t = torch.arange(T).float()
    wave = torch.sin(2 * math.pi * FREQS[label].unsqueeze(1) * t + phase)
    return wave + 0.4 * torch.randn(n, T), label


class Elman(nn.Module):
    def __init__(self, hidden, classes):
        super().__init__()
        self.W_in = nn.Parameter(torch.randn(1, hidden) * 0.5)
        self.W_rec = nn.Parameter(torch.randn(hidden, hidden) * 0.5)  # FAULT
        self.W_rec = nn.Parameter(torch.randn(hidden, hidden) * 0.9 / math.sqrt(hidden))  # REPAIRED
        self.b = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Linear(hidden, classes)

    def forward(self, wave):
        h = wave.new_zeros(wave.size(0), self.W_rec.size(0))
        total = 0.0
        for t in range(wave.size(1)):
            h = torch.tanh(wave[:, t : t + 1] @ self.W_in + h @ self.W_rec + self.b)
            total = total + h**2
        return self.out(total / wave.size(1))


x_train, y_train = make_waves(1536)
x_test, y_test = make_waves(512)

rnn = Elman(HIDDEN, N_CLASSES)
opt = torch.optim.RMSprop(rnn.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(8):
    rnn.train()
    order = torch.randperm(len(x_train))
    running = 0.0
    for i in range(0, len(order), 64):
        idx = order[i : i + 64]
        loss = loss_fn(rnn(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(idx)
    rnn.eval()
    with torch.no_grad():
        acc = (rnn(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}  loss {running / len(order):.4f}  test accuracy {acc:.3f}")
