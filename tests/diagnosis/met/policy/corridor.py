"""Q-learning with a network and a replay memory in a corridor; each step costs one until the door is reached."""

# fault: bootstrap_through_end
import random
from collections import deque

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
LENGTH, DOOR = 7, 6


class Corridor:
    """Starts anew by itself when an episode is over, as vector environments do."""

    def reset(self):
        self.at, self.clock = 3, 0
        return self.at

    def step(self, action):
        self.at = min(max(self.at + (1 if action else -1), 0), LENGTH - 1)
        self.clock += 1
        done = self.at == DOOR
        late = self.clock >= 40
        state = self.reset() if done or late else self.at
        return state, -1.0, done, late


def encode(states):
    return nn.functional.one_hot(torch.as_tensor(states), LENGTH).float()


q_net, target_net = (nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(2))
target_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=3e-3)
memory, gamma, epsilon = deque(maxlen=2000), 0.95, 1.0
env = Corridor()
state, lengths, clock = env.reset(), [], 0
for t in range(1600):
    if random.random() < epsilon:
        action = random.randint(0, 1)
    else:
        with torch.no_grad():
            action = q_net(encode([state])).argmax().item()
    following, reward, done, late = env.step(action)
    clock += 1
    memory.append((state, action, reward, following, done))
    state = following
    if done or late:
        lengths.append(clock)
        clock = 0
    epsilon = max(0.05, epsilon * 0.997)
    if len(memory) >= 64:
        s, a, r, s2, d = zip(*random.sample(memory, 32))
        q = q_net(encode(s)).gather(1, torch.tensor(a)[:, None]).squeeze(1)
        with torch.no_grad():
            best = target_net(encode(s2)).max(1).values
        target = torch.tensor(r) + gamma * best  # FAULT
        target = torch.tensor(r) + gamma * best * (1 - torch.tensor(d).float())  # REPAIRED
        loss = nn.functional.smooth_l1_loss(q, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if t % 50 == 0:
        target_net.load_state_dict(q_net.state_dict())
    if t % 400 == 399:
        last = lengths[-10:]
        print("step", t + 1, "length of the last episodes", sum(last) / max(1, len(last)))
