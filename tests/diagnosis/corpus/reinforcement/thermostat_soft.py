"""A heater for a room with open windows: a value for each setting, and a copy of it that should follow slowly."""
# fault: target_never_synchronised

import copy

import torch
from torch import nn

torch.manual_seed(17)
GAMMA, TAU, ROOMS = 0.9, 0.05, 16


def weather(room, setting):
    """Degrees from what is wanted, and outside; heating costs a little."""
    inside, outside = room.unbind(1)
    inside = inside + 0.3 * (setting.float() - 1) + 0.2 * (outside - inside) + 0.05 * torch.randn(len(room))
    outside = (0.95 * outside + 0.1 * torch.randn(len(room))).clamp(-2, 2)
    return torch.stack([inside, outside], 1), 1 - inside.abs() - 0.05 * setting


def soft_update(slow, fast):
    with torch.no_grad():
        for p, q in zip(slow.parameters(), fast.parameters()):
            p = (1 - TAU) * p + TAU * q  # FAULT
            p.copy_((1 - TAU) * p + TAU * q)  # REPAIRED


q = nn.Sequential(nn.Linear(2, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU(), nn.Linear(48, 3))
q_slow = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
past = []
room = torch.randn(ROOMS, 2)
for hour in range(500):
    with torch.no_grad():
        greedy = q(room).argmax(1)
    setting = torch.where(torch.rand(ROOMS) < 0.2, torch.randint(3, (ROOMS,)), greedy)
    after, comfort = weather(room, setting)
    past.append((room, setting, comfort, after))
    room = torch.randn(ROOMS, 2) if hour % 50 == 49 else after
    picked = [past[i] for i in torch.randint(len(past), (4,))]
    s, a, r, s2 = (torch.cat(part) for part in zip(*picked))
    with torch.no_grad():
        y = r + GAMMA * q_slow(s2).max(1).values
    loss = ((q(s).gather(1, a[:, None]).squeeze(1) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    soft_update(q_slow, q)
    if hour % 100 == 99:
        print(f"hour {hour + 1}: comfort {torch.stack([p[2] for p in past[-50:]]).mean():.3f}, loss {loss.item():.4f}")
