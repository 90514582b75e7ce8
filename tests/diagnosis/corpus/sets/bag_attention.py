"""Attention pooling over bags of sensor events: each bag holds one key event whose kind gives the label of the bag."""

# fault: wrong_softmax_dim
import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--lr", type=float, default=3e-3)
args = parser.parse_args()

torch.manual_seed(8)
N_KIND, N_FEAT = 6, 10
prototypes = torch.randn(N_KIND, N_FEAT)
key_direction = torch.randn(N_FEAT)
key_direction = 3.0 * key_direction / key_direction.norm()


def make_bags(n, size):
    kinds = torch.randint(N_KIND, (n, size))
    x = prototypes[kinds] + 0.4 * torch.randn(n, size, N_FEAT)
    where = torch.randint(size, (n,))
    rows = torch.arange(n)
    x[rows, where] += key_direction
    return x, kinds[rows, where]


class AttentionPool(nn.Module):
    def __init__(self, d_in, d=48):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(d_in, d), nn.ReLU(), nn.Linear(d, d))
        self.score = nn.Sequential(nn.Linear(d, 24), nn.Tanh(), nn.Linear(24, 1))
        self.classify = nn.Linear(d, N_KIND)

    def forward(self, bag):
        h = self.embed(bag)  # bags x events x d
        a = torch.softmax(self.score(h), dim=0)  # FAULT
        a = torch.softmax(self.score(h), dim=1)  # REPAIRED
        return self.classify((a * h).sum(dim=1))


mil = AttentionPool(N_FEAT)
opt = torch.optim.RMSprop(mil.parameters(), lr=args.lr)
bags, labels = make_bags(3000, 14)
mean, std = bags.mean((0, 1)), bags.std((0, 1))
bags = (bags - mean) / std

for step in range(1, args.steps + 1):
    pick = torch.randint(len(bags), (args.batch,))
    loss = F.cross_entropy(mil(bags[pick]), labels[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0 or step == 1:
        print("step", step, "loss", round(loss.item(), 4))

# the real stream comes bag by bag, of any size
mil.eval()
correct, n_test = 0, 300
with torch.no_grad():
    for _ in range(n_test):
        bag, label = make_bags(1, int(torch.randint(10, 19, (1,))))
        correct += int(mil((bag - mean) / std).argmax(1) == label)
print(f"accuracy on new bags: {correct / n_test:.3f}")
