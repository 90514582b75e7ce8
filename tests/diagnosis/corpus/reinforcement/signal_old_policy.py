"""Traffic lights at a crossing; the policy that acted is kept as a network of its own, as some write PPO."""
# fault: ratio_always_one

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(37)
CROSSINGS, STEPS = 16, 16


class Memory:
    def __init__(self):
        self.states, self.actions, self.rewards = [], [], []

    def tensors(self):
        return torch.cat(self.states), torch.cat(self.actions), torch.stack(self.rewards)


def crossing(cars, light):
    """Cars wait on two streets; the street with green lets two through."""
    coming = torch.rand_like(cars) * torch.tensor([1.2, 0.6])
    green = F.one_hot(light, 2).float()
    cars = (cars + coming - 2 * green).clamp(0, 10)
    return cars, -cars.sum(1) / 10


def make():
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))


class PPO:
    def __init__(self):
        self.policy, self.old = make(), make()
        self.old.load_state_dict(self.policy.state_dict())
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=3e-3)

    def act(self, state, memory):
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=self.old(state / 5)).sample()
        memory.states.append(state)
        memory.actions.append(action)
        return action

    def update(self, memory):
        states, actions, rewards = memory.tensors()
        returns, g = [], torch.zeros(CROSSINGS)
        for r in rewards.flip(0):
            g = r + 0.8 * g
            returns.insert(0, g)
        returns = torch.cat(returns)
        adv = (returns - returns.mean()) / returns.std()
        for _ in range(6):
            self.old.load_state_dict(self.policy.state_dict())  # FAULT
            new = F.log_softmax(self.policy(states / 5), -1).gather(1, actions[:, None]).squeeze(1)
            with torch.no_grad():
                before = F.log_softmax(self.old(states / 5), -1).gather(1, actions[:, None]).squeeze(1)
            ratios = torch.exp(new - before)
            loss = -torch.min(ratios * adv, ratios.clamp(0.8, 1.2) * adv).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        self.old.load_state_dict(self.policy.state_dict())


agent, cars = PPO(), 5 * torch.rand(CROSSINGS, 2)
for update in range(50):
    memory = Memory()
    for _ in range(STEPS):
        cars, reward = crossing(cars, agent.act(cars, memory))
        memory.rewards.append(reward)
    agent.update(memory)
    if update % 10 == 9:
        print(f"update {update + 1}: {-10 * torch.stack(memory.rewards).mean():.2f} cars waiting")
