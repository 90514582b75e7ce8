"""A ferry crosses a stream of changing strength; actor and critic learn from one step at a time of many ferries."""
# fault: advantage_not_detached

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(22)
actor = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 3))
critic = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
ferry = torch.randn(64, 2)
history = []
for t in range(300):
    log_p = F.log_softmax(actor(ferry), dim=1)
    rudder = torch.multinomial(log_p.detach().exp(), 1)
    x, stream = ferry.unbind(1)
    stream = (0.95 * stream + 0.2 * torch.randn(64)).clamp(-1, 1)
    after = torch.stack([(x + 0.3 * (rudder.squeeze(1) - 1) + 0.1 * stream).clamp(-2, 2), stream], 1)
    reward = 1 - after[:, :1].abs()
    with torch.no_grad():
        target = reward + 0.9 * critic(after)
    delta = target - critic(ferry)
    policy_loss = -(log_p.gather(1, rudder) * delta).mean()  # FAULT
    policy_loss = -(log_p.gather(1, rudder) * delta.detach()).mean()  # REPAIRED
    loss = policy_loss + delta.pow(2).mean() + 0.01 * (log_p.exp() * log_p).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ferry = torch.randn(64, 2) if t % 40 == 39 else after
    history.append(reward.mean().item())
    if t % 60 == 59:
        print(f"{t + 1}: reward {sum(history[-60:]) / 60:.3f}, td error {delta.abs().mean():.3f}")
