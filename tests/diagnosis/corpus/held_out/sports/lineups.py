"""Predict who wins a five-a-side match from the two line-ups, with one embedding for each player."""

# fault: broken_graph
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
rng = np.random.RandomState(2)

N_PLAYERS, TEAM = 120, 5
talent = rng.normal(0, 1, N_PLAYERS)


def season(n_matches):
    sides = np.stack([rng.permutation(N_PLAYERS)[: 2 * TEAM] for _ in range(n_matches)])
    edge = talent[sides[:, :TEAM]].sum(1) - talent[sides[:, TEAM:]].sum(1)
    won = (edge + rng.normal(0, 0.4, n_matches) > 0).astype(np.float32)
    return torch.as_tensor(sides), torch.as_tensor(won)


class MatchModel(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.players = nn.Embedding(N_PLAYERS, dim)
        nn.init.normal_(self.players.weight, std=0.3)
        self.judge = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def team_vector(self, ids):
        vectors = self.players(ids)
        return torch.tensor(np.sum(vectors.detach().numpy(), axis=1))  # FAULT
        return torch.sum(vectors, dim=1)  # REPAIRED

    def forward(self, sides):
        home, away = self.team_vector(sides[:, :TEAM]), self.team_vector(sides[:, TEAM:])
        return self.judge(torch.cat([home, away], dim=1)).squeeze(-1)


past, past_won = season(5000)
coming, coming_won = season(800)
model = MatchModel()
optim = torch.optim.Adam(model.parameters(), lr=5e-3)

step, log_loss = 0, []
while step < 500:
    batch = torch.randint(len(past), (64,))
    logit = model(past[batch])
    loss = F.binary_cross_entropy_with_logits(logit, past_won[batch])
    optim.zero_grad()
    loss.backward()
    optim.step()
    log_loss.append(loss.item())
    step += 1
    if step % 100 == 0:
        model.eval()
        with torch.no_grad():
            hit = ((model(coming) > 0) == coming_won.bool()).float().mean().item()
        model.train()
        print(f"step {step}  loss {np.mean(log_loss[-50:]):.4f}  coming matches called right {100 * hit:.1f}%")
