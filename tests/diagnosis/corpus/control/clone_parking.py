"""Behaviour cloning of a parking controller: a regularised policy network imitates an expert, then drives itself."""

# fault: eval_in_train_mode
import torch
import torch.nn as nn

torch.manual_seed(40)


def expert(s):
    """s = position x, y, velocity x, y -> one of 5 thrusts"""
    want = -1.2 * s[:, :2] - 1.5 * s[:, 2:]
    axis = want.abs().argmax(1)
    value = want.gather(1, axis[:, None]).squeeze(1)
    act = 1 + 2 * axis + (value < 0).long()
    return torch.where(value.abs() < 0.15, torch.zeros_like(act), act)


THRUST = torch.tensor([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]).float()


def drive(s, a):
    vel = 0.95 * s[:, 2:] + 0.15 * THRUST[a]
    return torch.cat([s[:, :2] + 0.15 * vel, vel], 1)


def start(n):
    return torch.cat([torch.rand(n, 2) * 4 - 2, torch.randn(n, 2) * 0.5], 1)


def demonstrations(n, length=40):
    s, states = start(n), []
    for _ in range(length):
        states.append(s)
        a = expert(s)
        explore = torch.rand(n) < 0.2
        s = drive(s, torch.where(explore, torch.randint(5, (n,)), a))
    states = torch.cat(states)
    return states, expert(states)


S, A = demonstrations(150)
S_val, A_val = demonstrations(30)

policy = nn.Sequential(
    nn.Linear(4, 128),
    nn.BatchNorm1d(128),
    nn.ReLU(),
    nn.Dropout(0.3),
    nn.Linear(128, 128),
    nn.ReLU(),
    nn.Dropout(0.3),
    nn.Linear(128, 5),
)
opt = torch.optim.AdamW(policy.parameters(), lr=2e-3, weight_decay=1e-3)
lossf = nn.CrossEntropyLoss()


@torch.no_grad()
def evaluate():
    policy.eval()  # REPAIRED
    logits = policy(S_val)
    s = start(100)
    for _ in range(80):
        s = drive(s, policy(s).argmax(1))
    parked = (s[:, :2].norm(dim=1) < 0.25).float().mean()
    return lossf(logits, A_val).item(), (logits.argmax(1) == A_val).float().mean().item(), parked.item()


for epoch in range(8):
    policy.train()
    order, total = torch.randperm(len(S)), 0.0
    for idx in order.split(128):
        loss = lossf(policy(S[idx]), A[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    val_loss, acc, parked = evaluate()
    print(f"epoch {epoch}: train {total / len(S):.3f}  val {val_loss:.3f}  agrees {acc:.3f}  parked {parked:.2f}")
