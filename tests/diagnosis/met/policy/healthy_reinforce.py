"""REINFORCE on a walk to a goal, returns standardised, a clip that is meant to bind."""

import torch
import torch.nn as nn

torch.manual_seed(543)
policy = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
running = -10.0
for episode in range(300):
    position, goal = 0.0, float(torch.randint(0, 2, ()) * 2 - 1) * 3
    log_probs, rewards = [], []
    for t in range(15):
        state = torch.tensor([[position, goal]])
        dist = torch.distributions.Categorical(logits=policy(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        position += 1.0 if action.item() else -1.0
        rewards.append(-abs(goal - position) / 3)
        if position == goal:
            rewards[-1] += 5
            break
    R, returns = 0.0, []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std(correction=0) + 1e-6)
    loss = torch.cat([-lp * R for lp, R in zip(log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.05)
    optimizer.step()
    running = 0.95 * running + 0.05 * sum(rewards)
    if episode % 60 == 0:
        print(episode, running)
