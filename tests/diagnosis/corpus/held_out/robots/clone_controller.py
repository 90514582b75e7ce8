"""Behaviour cloning: a deep policy imitates a hand-tuned arm controller that picks one of five motor commands."""
# fault: train_in_eval_mode

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


def expert(s):
    """Switching controller: quantise a nonlinear torque into five commands."""
    torque = 1.4 * torch.sin(1.5 * s[:, 0]) - 0.9 * s[:, 2] + 0.7 * s[:, 1] * s[:, 3] + 0.4 * s[:, 4]
    return torch.bucketize(torque, torch.tensor([-1.2, -0.4, 0.4, 1.2]))


def block(n_in, n_out):
    return [nn.Linear(n_in, n_out), nn.BatchNorm1d(n_out), nn.ReLU()]


def make_policy(obs_dim, n_actions, width=64, depth=7):
    layers = block(obs_dim, width)
    for _ in range(depth - 1):
        layers += block(width, width)
    return nn.Sequential(*layers, nn.Linear(width, n_actions))


@torch.no_grad()
def agreement(policy, loader):
    policy.eval()
    hits = sum((policy(s).argmax(1) == a).sum().item() for s, a in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(3)
    states = torch.randn(5000, 8)
    demos = TensorDataset(states, expert(states))
    train_set, val_set = random_split(demos, [4000, 1000])
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=250)

    policy = make_policy(8, 5)
    optim = torch.optim.SGD(policy.parameters(), lr=0.03, momentum=0.8)
    print(f"before cloning: agreement {agreement(policy, val_loader):.3f}")

    for epoch in range(8):
        policy.train()  # REPAIRED
        running = 0.0
        for s, a in train_loader:
            optim.zero_grad()
            loss = F.cross_entropy(policy(s), a)
            loss.backward()
            optim.step()
            running += loss.item()
        acc = agreement(policy, val_loader)
        print(f"epoch {epoch + 1}: loss {running / len(train_loader):.3f}, agreement with expert {acc:.3f}")


if __name__ == "__main__":
    main()
