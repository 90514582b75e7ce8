"""DQN as in a tutorial: a replay buffer, a target network that follows slowly, Huber's loss."""

import random
from collections import deque

import gymnasium as gym
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)
env = gym.make("CartPole-v1")


def network():
    return nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))


policy_net, target_net = network(), network()
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=3e-4, amsgrad=True)
memory, steps = deque(maxlen=10_000), 0


def learn():
    state, action, reward, after, ended = (torch.stack(part) for part in zip(*random.sample(memory, 128)))
    q = policy_net(state).gather(1, action)
    with torch.no_grad():
        best = target_net(after).max(1).values
    loss = nn.SmoothL1Loss()(q, (reward + 0.99 * best * ~ended).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()


for episode in range(60):
    state = torch.from_numpy(env.reset(seed=episode)[0])
    for t in range(500):
        epsilon = 0.05 + 0.85 * 0.998**steps
        steps += 1
        if random.random() < epsilon:
            action = torch.tensor([random.randrange(2)])
        else:
            with torch.no_grad():
                action = policy_net(state[None]).argmax(1)
        seen, reward, ended, late, _ = env.step(action.item())
        after = torch.from_numpy(seen)
        memory.append((state, action, torch.tensor(float(reward)), after, torch.tensor(ended)))
        state = after
        if len(memory) >= 128:
            learn()
            for target, online in zip(target_net.parameters(), policy_net.parameters()):
                target.data.lerp_(online.data, 0.005)
        if ended or late:
            break
    if episode % 20 == 19:
        print(f"episode {episode + 1}  {t + 1} steps")
