"""Learn to rank offers for visitors from clicks: two towers with embeddings, pairwise (BPR) loss, compiled model."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
VISITORS, OFFERS, DIM = 120, 80, 6

taste = torch.randn(VISITORS, DIM)
appeal = torch.randn(OFFERS, DIM)
price = torch.randn(OFFERS)
utility = taste @ appeal.T / DIM**0.5 - 0.5 * price
noise = -torch.log(-torch.log(torch.rand(VISITORS, 40, OFFERS)))  # Gumbel: clicks by a choice model
clicks = (2.5 * utility.unsqueeze(1) + noise).argmax(2)
train_clicks, test_clicks = clicks[:, :30], clicks[:, 30:]


class TwoTower(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.visitor = nn.Embedding(VISITORS, width)
        self.offer = nn.Embedding(OFFERS, width)
        self.cost = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        nn.init.normal_(self.visitor.weight, std=0.1)
        nn.init.normal_(self.offer.weight, std=0.1)

    def forward(self, who, what, cost):
        match = (self.visitor(who) * self.offer(what)).sum(-1)
        return match + self.cost(cost.unsqueeze(-1)).squeeze(-1)


model = TwoTower()
score = torch.compile(model, backend="eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=400)


def held_out_auc():
    """How often an offer clicked in the held-out part is ranked above a random one."""
    model.eval()
    with torch.no_grad():
        who = torch.arange(VISITORS).repeat_interleave(test_clicks.shape[1])
        liked = test_clicks.flatten()
        other = torch.randint(0, OFFERS, liked.shape)
        wins = model(who, liked, price[liked]) > model(who, other, price[other])
    model.train()
    return wins[other != liked].float().mean().item()


print(f"before training: auc {held_out_auc():.3f}")
for step in range(1, 401):
    who = torch.randint(0, VISITORS, (256,))
    liked = train_clicks[who, torch.randint(0, 30, (256,))]
    other = torch.randint(0, OFFERS, (256,))
    margin = score(who, liked, price[liked]) - score(who, other, price[other])
    loss = -F.logsigmoid(margin).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 80 == 0:
        print(f"step {step}: loss {loss.item():.4f}, held-out auc {held_out_auc():.3f}")
