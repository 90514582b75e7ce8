"""Point margins in tennis: a skill vector for each player, weighted by the surface."""

# fault: unregistered_params
import torch
from torch import nn

gen = torch.Generator().manual_seed(17)
torch.manual_seed(3)

N, D, SURFACES = 40, 3, 3
true_skill = torch.randn(N, D, generator=gen)
true_surface = torch.randn(SURFACES, D, generator=gen)


def games(n):
    a = torch.randint(0, N, (n,), generator=gen)
    b = (a + torch.randint(1, N, (n,), generator=gen)) % N
    s = torch.randint(0, SURFACES, (n,), generator=gen)
    wind = torch.randn(n, generator=gen)
    margin = ((true_skill[a] - true_skill[b]) * true_surface[s]).sum(1) + 0.5 * wind * (s == 0)
    return a, b, s, wind, margin + 0.2 * torch.randn(n, generator=gen)


class SkillModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.skill = torch.randn(N, D).mul(0.3).requires_grad_()  # FAULT
        self.skill = nn.Parameter(torch.randn(N, D).mul(0.3))  # REPAIRED
        self.surface = nn.Embedding(SURFACES, D)
        self.wind = nn.Embedding(SURFACES, 1)

    def forward(self, a, b, s, wind):
        duel = (self.skill[a] - self.skill[b]) * self.surface(s)
        return duel.sum(dim=1) + self.wind(s)[:, 0] * wind


def train():
    data, unseen = games(6000), games(1000)
    f = SkillModel()
    opt = torch.optim.Adam(f.parameters(), lr=0.02)
    mse = nn.MSELoss()
    for epoch in range(1, 9):
        f.train()
        losses = []
        for idx in torch.randperm(6000).split(100):
            a, b, s, wind, margin = (column[idx] for column in data)
            loss = mse(f(a, b, s, wind), margin)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        f.eval()
        with torch.no_grad():
            test = mse(f(*unseen[:4]), unseen[4]).item()
        print(
            f"[{epoch}] train mse {sum(losses) / len(losses):.4f}, unseen {test:.4f} (variance {unseen[4].var():.2f})"
        )
    return f


if __name__ == "__main__":
    train()
