"""A camera follows a moving target: actor, critic and a slow critic, all in a class of its own."""
# fault: target_never_synchronised

import torch
import torch.nn as nn


class Scene:
    def __init__(self, n):
        self.n, self.error = n, torch.randn(n, 2)

    def step(self, turn):
        x, drift = self.error.unbind(1)
        drift = 0.9 * drift + 0.1 * torch.randn(self.n)
        self.error = torch.stack([x + drift - turn.squeeze(1), drift], 1).clamp(-3, 3)
        return self.error.clone(), -(self.error[:, :1] ** 2)


class Learner:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.critic = self.make_critic()
        self.slow_critic = self.make_critic()
        self.slow_critic.load_state_dict(self.critic.state_dict())
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=2e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    @staticmethod
    def make_critic():
        return nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            target = r + 0.9 * self.slow_critic(torch.cat([s2, self.actor(s2)], 1))
        critic_loss = nn.functional.mse_loss(self.critic(torch.cat([s, a], 1)), target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        return critic_loss.item()

    def follow(self, rate=0.05):
        new, old = self.critic.state_dict(), self.slow_critic.state_dict()
        mixed = {name: (1 - rate) * old[name] + rate * new[name] for name in new}
        self.critic.load_state_dict(new)  # FAULT
        self.slow_critic.load_state_dict(mixed)  # REPAIRED


def main():
    torch.manual_seed(6)
    scene, learner, seen = Scene(16), Learner(), []
    s = scene.error.clone()
    for t in range(500):
        with torch.no_grad():
            a = learner.actor(s) + 0.3 * torch.randn(16, 1)
        s2, r = scene.step(a)
        seen.append((s, a, r, s2))
        s = s2
        if t >= 20:
            rows = [seen[i] for i in torch.randint(len(seen), (4,))]
            loss = learner.learn(*(torch.cat(part) for part in zip(*rows)))
            learner.follow()
        if t % 100 == 99:
            print(f"{t + 1}  error {-torch.stack([x[2] for x in seen[-20:]]).mean():.3f}  critic {loss:.4f}")


main()
